package hostile

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// frame is a whole request: size prefix, header, body.
func frame(req kmsg.Request, correlation int32) []byte {
	return kmsg.NewRequestFormatter().AppendRequest(nil, req, correlation)
}

// raw is a whole request whose key, version and body are any bytes.
func raw(key, version int16, body []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, 7)
	b = append(b, 0xff, 0xff) // no client id
	b = append(b, body...)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// versions is a request that any broker answers.
func versions() []byte { return raw(18, 0, nil) }

// ending is how a broker took some bytes.
type ending string

const (
	closed   ending = "closed"
	answered ending = "answered"
	waiting  ending = "waiting" // neither yet
)

// send dials, writes, and sees what comes within the patience.
func send(addr string, b []byte, patience time.Duration) (ending, []byte, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return closed, nil, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write(b); err != nil {
		return closed, nil, nil
	}
	how, answer := receive(c)
	return how, answer, nil
}

// receive reads one answer.
func receive(c net.Conn) (ending, []byte) {
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		if e, ok := err.(net.Error); ok && e.Timeout() {
			return waiting, nil
		}
		return closed, nil
	}
	answer := make([]byte, min(binary.BigEndian.Uint32(size[:]), 64<<20))
	if _, err := io.ReadFull(c, answer); err != nil {
		return closed, nil
	}
	return answered, answer
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// batch is a sealed record batch around records as they are.
func batch(attributes int16, count int32, records []byte, change func(b []byte)) []byte {
	h := kmsg.NewRecordBatch()
	h.PartitionLeaderEpoch, h.Magic, h.Attributes = -1, 2, attributes
	h.LastOffsetDelta, h.NumRecords = count-1, count
	h.FirstTimestamp, h.MaxTimestamp = 1_700_000_000_000, 1_700_000_000_000
	h.ProducerID, h.ProducerEpoch, h.FirstSequence = -1, -1, -1
	h.Records = records
	b := h.AppendTo(nil)
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	if change != nil {
		change(b)
	}
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
	return b
}

// record is one record; pieces are its key and value and the bytes of its headers.
func record(key, value []byte, headers int, headerBytes []byte) []byte {
	var body bytes.Buffer
	body.Write([]byte{0, 0, 0})
	put := func(b []byte) {
		body.Write(binary.AppendVarint(nil, int64(len(b))))
		body.Write(b)
	}
	put(key)
	put(value)
	body.Write(binary.AppendVarint(nil, int64(headers)))
	body.Write(headerBytes)
	return append(binary.AppendVarint(nil, int64(body.Len())), body.Bytes()...)
}

// produce asks to append one batch to partition 0 of a topic.
func produce(topic string, b []byte) kmsg.Request {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 9, -1, 30_000
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = b
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

// fetch asks for partition 0 of a topic.
func fetch(topic string, offset int64, bytes int32) kmsg.Request {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxBytes, req.SessionEpoch = 11, bytes, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic = topic
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes = offset, bytes
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}
