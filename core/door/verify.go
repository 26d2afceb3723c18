package door

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
	"github.com/orrery-log/orrery/core/record/codec"
)

// verifyProduce verifies the records of each partition, in request order, and
// cuts them to their one batch. A fault costs its own partition only.
func (s *Scratch) verifyProduce(req *kmsg.ProduceRequest, l Limits) []env.BatchInfo {
	n := 0
	for i := range req.Topics {
		n += len(req.Topics[i].Partitions)
	}
	infos := make([]env.BatchInfo, 0, n)
	for i := range req.Topics {
		partitions := req.Topics[i].Partitions
		for j := range partitions {
			p := &partitions[j]
			info := s.verifyProduced(p.Records, req.Version, l)
			if info.Fault == 0 {
				p.Records = asItIs(p.Records, info)
			}
			infos = append(infos, info)
		}
	}
	return infos
}

// asItIs cuts data to its one batch and corrects the largest timestamp in its
// header, which readers and retention trust. Kafka does both.
func asItIs(data []byte, info env.BatchInfo) record.Batch {
	b, _, _ := record.Next(data)
	if b.MaxTimestamp() != info.MaxTime {
		b.SetMaxTimestamp(info.MaxTime)
	}
	return b
}

// verifyProduced judges what a producer sent for one partition: exactly one
// batch, as a producer may write it.
func (s *Scratch) verifyProduced(data []byte, version int16, l Limits) env.BatchInfo {
	b, rest, info := cut(data)
	switch {
	case info.Fault != 0:
		return info
	case b == nil:
		return refuse(env.InvalidRecord, "no whole record batch in %d bytes", len(data))
	case b.Magic() != 2:
		return refuse(env.InvalidRecord, "magic %d, only 2 is taken", b.Magic())
	case len(b) < record.HeaderSize:
		return refuse(env.CorruptMessage, "a batch of %d bytes", len(b))
	case b.Codec() == env.Zstd && version < 7:
		return refuse(env.UnsupportedCompressionType, "zstd needs Produce 7")
	}
	switch second, _, info := cut(rest); {
	case info.Fault != 0:
		return info
	case second != nil:
		return refuse(env.InvalidRecord, "more than one batch")
	}
	if !b.Sound() {
		return refuse(env.CorruptMessage, "the checksum is %08x, the bytes have %08x", b.CRC(), record.CRC(b[21:]))
	}
	if info := producerHeader(b); info.Fault != 0 {
		return info
	}
	return s.walk(b, l, produced)
}

// VerifyBatches verifies what a broker has stored: whole batches back to back,
// the last of which may be torn off. It appends one BatchInfo for each to dst and
// ends behind the first one with a Fault.
func (s *Scratch) VerifyBatches(dst []env.BatchInfo, data []byte, l Limits) []env.BatchInfo {
	for len(data) > 0 {
		b, rest, info := cut(data)
		if b == nil && info.Fault == 0 {
			return dst // torn
		}
		if info.Fault == 0 {
			info = s.verifyStored(b, l)
		}
		dst = append(dst, info)
		if info.Fault != 0 {
			return dst
		}
		data = rest
	}
	return dst
}

func (s *Scratch) verifyStored(b record.Batch, l Limits) env.BatchInfo {
	switch {
	case b.Magic() != 2:
		return refuse(env.InvalidRecord, "magic %d, only 2 is taken", b.Magic())
	case len(b) < record.HeaderSize:
		return refuse(env.CorruptMessage, "a batch of %d bytes", len(b))
	case !b.Sound():
		return refuse(env.CorruptMessage, "the checksum is %08x, the bytes have %08x", b.CRC(), record.CRC(b[21:]))
	case b.BaseOffset() < 0 || b.Count() < 0 || b.LastOffsetDelta() < 0 || int64(b.Count()) > int64(b.LastOffsetDelta())+1:
		return refuse(env.InvalidRecord, "%d records from offset %d with a last offset delta of %d", b.Count(), b.BaseOffset(), b.LastOffsetDelta())
	}
	return s.walk(b, l, stored)
}

// cut takes the first batch off data as Kafka's reader does. No batch and no
// fault: what is there is no whole batch.
func cut(data []byte) (b record.Batch, rest []byte, info env.BatchInfo) {
	const (
		lengthEnd = 12 // base offset and length
		magicEnd  = 17
		smallest  = 14 // of the length field, for any magic
	)
	if len(data) < lengthEnd {
		return nil, nil, info
	}
	length := int64(int32(binary.BigEndian.Uint32(data[8:])))
	if length < smallest || length > math.MaxInt32-lengthEnd {
		return nil, nil, refuse(env.CorruptMessage, "a batch length of %d", length)
	}
	if len(data) < magicEnd {
		return nil, nil, info
	}
	if magic := int8(data[16]); magic < 0 || magic > 2 {
		return nil, nil, refuse(env.CorruptMessage, "magic %d", magic)
	}
	size := length + lengthEnd
	if size > int64(len(data)) {
		return nil, nil, info
	}
	return record.Batch(data[:size:size]), data[size:], info
}

// deleteHorizon marks a batch that the cleaner has emptied (attribute bit 6).
const deleteHorizon = 0x40

// producerHeader judges the header of a batch whose checksum is right.
func producerHeader(b record.Batch) env.BatchInfo {
	switch {
	case b.BaseOffset() != 0:
		return refuse(env.InvalidRecord, "a base offset of %d", b.BaseOffset())
	case b.Count() <= 0:
		return refuse(env.InvalidRecord, "%d records", b.Count())
	case int64(b.LastOffsetDelta())+1 != int64(b.Count()):
		return refuse(env.InvalidRecord, "%d records and a last offset delta of %d", b.Count(), b.LastOffsetDelta())
	case b.Control():
		return refuse(env.InvalidRecord, "a control batch from a client")
	case b.Attributes()&deleteHorizon != 0:
		return refuse(env.InvalidRecord, "a delete horizon from a client")
	case b.Idempotent() && b.BaseSequence() < 0:
		return refuse(env.InvalidRecord, "producer id %d without a sequence", b.ProducerID())
	case b.Idempotent() && b.ProducerEpoch() < 0:
		return refuse(env.InvalidRecord, "producer id %d without an epoch", b.ProducerID())
	case b.Transactional() && !b.Idempotent():
		return refuse(env.InvalidRecord, "a transaction without a producer id")
	}
	return env.BatchInfo{}
}

// origin says who wrote a batch.
type origin uint8

const (
	produced origin = iota // a producer: deltas count up from 0
	stored                 // a broker: a cleaner may have left gaps, and the log's clock may rule
)

// walk reads the records themselves and gathers what the broker needs to know.
func (s *Scratch) walk(b record.Batch, l Limits, from origin) env.BatchInfo {
	info := env.BatchInfo{Codec: b.Codec(), Count: b.Count(), MinTime: -1, MaxTime: -1, Transaction: b.Transactional()}
	defer s.codec.Release()
	walk := s.codec.Records(b.Codec(), b.Records(), b.Count(), l.Decompressed)
	last := int32(-1)
	for i := int32(0); walk.Next(); i++ {
		if from == produced && walk.OffsetDelta != i {
			return refuse(env.InvalidRecord, "record %d has offset delta %d", i, walk.OffsetDelta)
		}
		if walk.OffsetDelta <= last || walk.OffsetDelta > b.LastOffsetDelta() {
			return refuse(env.InvalidRecord, "offset delta %d after %d in a batch up to %d", walk.OffsetDelta, last, b.LastOffsetDelta())
		}
		last = walk.OffsetDelta
		t := b.FirstTimestamp() + walk.TimeDelta
		if from == stored && b.LogAppendTime() {
			t = b.MaxTimestamp()
		}
		if i == 0 {
			info.FirstTime = t
		}
		if t > info.MaxTime {
			info.MaxTime, info.MaxTimeAt = t, walk.OffsetDelta
		}
		if t != -1 && (info.MinTime == -1 || t < info.MinTime) {
			info.MinTime = t
		}
		info.Keyless = info.Keyless || walk.Keyless
	}
	if walk.End() {
		return info
	}
	fault, why := walk.Fault()
	return refuse(faultCode(fault), "%s", why)
}

func faultCode(f codec.Fault) int16 {
	switch f {
	case codec.Short, codec.Shape:
		return env.InvalidRecord
	case codec.Corrupt:
		return env.CorruptMessage
	case codec.Huge:
		return env.MessageTooLarge
	default:
		panic(fmt.Sprintf("door: a walk ended with fault %d", f))
	}
}

func refuse(code int16, format string, args ...any) env.BatchInfo {
	return env.BatchInfo{Fault: code, Why: fmt.Sprintf(format, args...)}
}
