package record

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/orrery-log/orrery/core/env"
)

// Batch is one whole record batch of format v2, as on the wire.
//
//	 0 base offset i64 | 8 length i32 | 12 leader epoch i32 | 16 magic i8 | 17 crc u32
//	21 attributes i16 | 23 last offset delta i32 | 27 first timestamp i64 | 35 max timestamp i64
//	43 producer id i64 | 51 producer epoch i16 | 53 base sequence i32 | 57 count i32 | 61 records
//
// The CRC-32C covers byte 21 to the end, so base offset and leader epoch can be
// put in place without touching it.
type Batch []byte

// HeaderSize is the bytes before the first record; no batch is smaller.
const HeaderSize = 61

// Attribute bits.
const (
	attrCodec         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CRC is the CRC-32C of data.
func CRC(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }

func (b Batch) BaseOffset() int64      { return int64(binary.BigEndian.Uint64(b[0:])) }
func (b Batch) Length() int32          { return int32(binary.BigEndian.Uint32(b[8:])) }
func (b Batch) LeaderEpoch() int32     { return int32(binary.BigEndian.Uint32(b[12:])) }
func (b Batch) Magic() int8            { return int8(b[16]) }
func (b Batch) CRC() uint32            { return binary.BigEndian.Uint32(b[17:]) }
func (b Batch) Attributes() int16      { return int16(binary.BigEndian.Uint16(b[21:])) }
func (b Batch) LastOffsetDelta() int32 { return int32(binary.BigEndian.Uint32(b[23:])) }
func (b Batch) FirstTimestamp() int64  { return int64(binary.BigEndian.Uint64(b[27:])) }
func (b Batch) MaxTimestamp() int64    { return int64(binary.BigEndian.Uint64(b[35:])) }
func (b Batch) ProducerID() int64      { return int64(binary.BigEndian.Uint64(b[43:])) }
func (b Batch) ProducerEpoch() int16   { return int16(binary.BigEndian.Uint16(b[51:])) }
func (b Batch) BaseSequence() int32    { return int32(binary.BigEndian.Uint32(b[53:])) }
func (b Batch) Count() int32           { return int32(binary.BigEndian.Uint32(b[57:])) }

// LastOffset is the offset of the batch's last record.
func (b Batch) LastOffset() int64 { return b.BaseOffset() + int64(b.LastOffsetDelta()) }

// End is the first offset behind the batch.
func (b Batch) End() int64 { return b.LastOffset() + 1 }

// Codec is the compression of the records.
func (b Batch) Codec() env.Codec { return env.Codec(b.Attributes() & attrCodec) }

// LogAppendTime tells whether the broker's clock stamped the batch.
func (b Batch) LogAppendTime() bool { return b.Attributes()&attrLogAppendTime != 0 }

// Transactional tells whether the batch belongs to a transaction.
func (b Batch) Transactional() bool { return b.Attributes()&attrTransactional != 0 }

// Control tells whether the batch holds a control record.
func (b Batch) Control() bool { return b.Attributes()&attrControl != 0 }

// Idempotent tells whether the batch carries a producer's sequence (KIP-98).
func (b Batch) Idempotent() bool { return b.ProducerID() >= 0 }

// LastSequence is the sequence of the last record; sequences wrap from 2^31-1 to 0.
func (b Batch) LastSequence() int32 { return AddSequence(b.BaseSequence(), b.LastOffsetDelta()) }

// Records are the bytes of the records, compressed as Codec says.
func (b Batch) Records() []byte { return b[HeaderSize:] }

// Place writes base offset and leader epoch; the checksum does not cover them.
func (b Batch) Place(base int64, epoch int32) {
	binary.BigEndian.PutUint64(b[0:], uint64(base))
	binary.BigEndian.PutUint32(b[12:], uint32(epoch))
}

// Stamp makes it a batch of LogAppendTime at t milliseconds, checksum included.
func (b Batch) Stamp(t int64) {
	b.setAttributes(b.Attributes() | attrLogAppendTime)
	binary.BigEndian.PutUint64(b[35:], uint64(t))
	b.Seal()
}

// ClearStamp makes it a batch of CreateTime, checksum included. Kafka clears the
// bit where a client set it.
func (b Batch) ClearStamp() {
	b.setAttributes(b.Attributes() &^ attrLogAppendTime)
	b.Seal()
}

func (b Batch) setAttributes(a int16) { binary.BigEndian.PutUint16(b[21:], uint16(a)) }

// Seal writes the checksum.
func (b Batch) Seal() { binary.BigEndian.PutUint32(b[17:], CRC(b[21:])) }

// Sound tells whether the checksum fits.
func (b Batch) Sound() bool { return b.CRC() == CRC(b[21:]) }

func (b Batch) String() string {
	return fmt.Sprintf("batch %d..%d epoch %d, %d bytes, producer %d/%d sequence %d",
		b.BaseOffset(), b.LastOffset(), b.LeaderEpoch(), len(b), b.ProducerID(), b.ProducerEpoch(), b.BaseSequence())
}

// Next cuts the first whole batch off data. Not ok: data does not begin with a
// whole batch of a possible length; it may be the torn end of a read.
func Next(data []byte) (b Batch, rest []byte, ok bool) {
	if len(data) < HeaderSize {
		return nil, data, false
	}
	size := int64(Batch(data).Length()) + 12
	if size < HeaderSize || size > int64(len(data)) {
		return nil, data, false
	}
	return Batch(data[:size:size]), data[size:], true
}

// AddSequence is sequence + n with Kafka's wrap: 2^31-1 is followed by 0.
func AddSequence(sequence, n int32) int32 {
	if sequence > (1<<31-1)-n {
		return n - ((1<<31 - 1) - sequence) - 1
	}
	return sequence + n
}
