package differential

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// batch describes a record batch as a client would send it. Fault changes its
// bytes: before the checksum is written if sealed, after it if not.
type batch struct {
	records  []rec // default: one record, "value"
	codec    int16
	producer int64 // default: none
	epoch    int16
	sequence int32
	attrs    int16
	at       int64 // first timestamp, ms; default: firstTime
	fault    func(b []byte) []byte
	late     func(b []byte) []byte
}

type rec struct {
	key, value []byte
	after      int64 // ms after the first
	headers    []kmsg.Header
}

// firstTime is the timestamp of most first records: an hour ago, so that retention
// leaves them and no clock of a broker is near.
var firstTime = time.Now().Add(-time.Hour).Truncate(time.Second).UnixMilli()

func values(v ...string) []rec {
	var rs []rec
	for i, s := range v {
		rs = append(rs, rec{key: []byte{'k'}, value: []byte(s), after: int64(i)})
	}
	return rs
}

func (b batch) records2bytes() []byte {
	var out []byte
	for i, r := range b.records {
		k := kmsg.NewRecord()
		k.OffsetDelta = int32(i)
		k.TimestampDelta64 = r.after
		k.Key, k.Value, k.Headers = r.key, r.value, r.headers
		body := k.AppendTo(nil) // Length 0 is one byte
		k.Length = int32(len(body) - 1)
		out = k.AppendTo(out)
	}
	return out
}

func compress(codec int16, plain []byte) []byte {
	if codec == 0 {
		return plain
	}
	one := map[int16]kgo.CompressionCodec{1: kgo.GzipCompression(), 2: kgo.SnappyCompression(), 3: kgo.Lz4Compression(), 4: kgo.ZstdCompression()}[codec]
	c, err := kgo.DefaultCompressor(one)
	if err != nil {
		panic(err)
	}
	out, got := c.Compress(&bytes.Buffer{}, plain)
	if got != kgo.CompressionCodecType(codec) {
		panic("differential: the compressor chose another codec")
	}
	return bytes.Clone(out)
}

func decompress(codec int16, b []byte) ([]byte, error) {
	if codec == 0 {
		return b, nil
	}
	return kgo.DefaultDecompressor().Decompress(b, kgo.CompressionCodecType(codec))
}

func (b batch) bytes() []byte {
	if b.records == nil {
		b.records = values("value")
	}
	h := kmsg.NewRecordBatch()
	h.PartitionLeaderEpoch = -1
	h.Magic = 2
	h.Attributes = b.attrs | b.codec
	h.LastOffsetDelta = int32(len(b.records) - 1)
	h.FirstTimestamp = b.at
	if b.at == 0 {
		h.FirstTimestamp = firstTime
	}
	h.MaxTimestamp = h.FirstTimestamp
	for _, r := range b.records {
		h.MaxTimestamp = max(h.MaxTimestamp, h.FirstTimestamp+r.after)
	}
	h.ProducerID, h.ProducerEpoch, h.FirstSequence = -1, -1, -1
	if b.producer != 0 {
		h.ProducerID, h.ProducerEpoch, h.FirstSequence = b.producer, b.epoch, b.sequence
	}
	h.NumRecords = int32(len(b.records))
	h.Records = compress(b.codec, b.records2bytes())
	out := h.AppendTo(nil)
	binary.BigEndian.PutUint32(out[8:], uint32(len(out)-12))
	if b.fault != nil {
		out = b.fault(out)
	}
	if len(out) >= 61 {
		binary.BigEndian.PutUint32(out[17:], crc32.Checksum(out[21:], castagnoli))
	}
	if b.late != nil {
		out = b.late(out)
	}
	return out
}

// put16, put32 and put64 are faults: they write a number at a place.
func put8(at int, v uint8) func([]byte) []byte {
	return func(b []byte) []byte { b[at] = v; return b }
}

func put16(at int, v uint16) func([]byte) []byte {
	return func(b []byte) []byte { binary.BigEndian.PutUint16(b[at:], v); return b }
}

func put32(at int, v uint32) func([]byte) []byte {
	return func(b []byte) []byte { binary.BigEndian.PutUint32(b[at:], v); return b }
}

func put64(at int, v uint64) func([]byte) []byte {
	return func(b []byte) []byte { binary.BigEndian.PutUint64(b[at:], v); return b }
}
