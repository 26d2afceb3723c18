package record

import (
	"encoding/binary"

	"github.com/orrery-log/orrery/core/env"
)

// WithRecords is a new batch that says what b says of records that are
// compressed with c.
func (b Batch) WithRecords(c env.Codec, records []byte) Batch {
	n := make(Batch, HeaderSize+len(records))
	copy(n, b[:HeaderSize])
	copy(n[HeaderSize:], records)
	binary.BigEndian.PutUint32(n[8:], uint32(len(n)-12))
	n.setAttributes(n.Attributes()&^attrCodec | int16(c))
	n.Seal()
	return n
}

// SetMaxTimestamp corrects the largest timestamp of a batch of CreateTime,
// checksum included. Kafka does so where a client has it wrong.
func (b Batch) SetMaxTimestamp(t int64) {
	binary.BigEndian.PutUint64(b[35:], uint64(t))
	b.Seal()
}
