package journal

import (
	"encoding/binary"
	"fmt"
)

// Kind says what an entry is about. Numbers are never used again.
type Kind uint8

const (
	KindRecords    Kind = 1 // a batch was appended; the payload is its bytes
	KindOpen       Kind = 2 // a segment was opened; its Gen is the Seq of this entry
	KindStart      Kind = 3 // the log's start moved: retention, DeleteRecords
	KindCheckpoint Kind = 4 // all that was said of this log before, except records not yet stored
	KindDrop       Kind = 5 // the log was removed
	KindAccept     Kind = 6 // an operator accepted the loss of what is damaged
	KindTruncate   Kind = 7 // reserved: the log's end moved back
)

func (k Kind) String() string {
	switch k {
	case KindRecords:
		return "records"
	case KindOpen:
		return "open"
	case KindStart:
		return "start"
	case KindCheckpoint:
		return "checkpoint"
	case KindDrop:
		return "drop"
	case KindAccept:
		return "accept"
	case KindTruncate:
		return "truncate"
	default:
		return fmt.Sprintf("kind %d", uint8(k))
	}
}

// version of every kind's encoding so far. A kind that changes gets its own.
const version = 1

// AppendKind begins a header.
func AppendKind(b []byte, k Kind) []byte { return append(b, byte(k), version) }

// Parse reads a header's beginning; the Reader stands behind it. Not ok: the
// bytes are of no kind and version that we know.
func Parse(header []byte) (k Kind, r Reader, ok bool) {
	if len(header) < 2 || header[0] < byte(KindRecords) || header[0] > byte(KindAccept) || header[1] != version {
		return 0, Reader{bad: true}, false
	}
	return Kind(header[0]), Reader{data: header[2:]}, true
}

// Records is the header of a batch: all that log state needs of it, so that a
// damaged payload costs its records only.
type Records struct {
	Base, Last    int64 // offsets of the first and last record
	Epoch         int32 // leader epoch
	Bytes         int32 // of the payload
	Count         int32
	MaxTime       int64 // the largest timestamp, ms; -1: none
	MaxTimeAt     int64 // offset of the first record that has MaxTime
	Wall          int64 // when it was appended, ms by Wall: producers expire by it
	Transactional bool
	Control       bool
	ProducerID    int64 // -1: none, and the rest is not there
	ProducerEpoch int16
	Sequence      int32 // of the first record
	// Fresh: the producer was unknown (or expired) before this batch, so replay
	// begins its window anew, as the append did.
	Fresh bool
}

const (
	flagProducer      = 1
	flagTransactional = 2
	flagControl       = 4
	flagFresh         = 8
)

// AppendTo appends the header.
func (h *Records) AppendTo(b []byte) []byte {
	b = AppendKind(b, KindRecords)
	flags := byte(0)
	if h.ProducerID >= 0 {
		flags |= flagProducer
	}
	if h.Transactional {
		flags |= flagTransactional
	}
	if h.Control {
		flags |= flagControl
	}
	if h.Fresh {
		flags |= flagFresh
	}
	b = append(b, flags)
	b = binary.AppendUvarint(b, uint64(h.Base))
	b = binary.AppendUvarint(b, uint64(h.Last-h.Base))
	b = binary.AppendVarint(b, int64(h.Epoch))
	b = binary.AppendUvarint(b, uint64(h.Bytes))
	b = binary.AppendUvarint(b, uint64(h.Count))
	b = binary.AppendVarint(b, h.MaxTime)
	b = binary.AppendUvarint(b, uint64(h.MaxTimeAt-h.Base))
	b = binary.AppendVarint(b, h.Wall)
	if h.ProducerID >= 0 {
		b = binary.AppendUvarint(b, uint64(h.ProducerID))
		b = binary.AppendVarint(b, int64(h.ProducerEpoch))
		b = binary.AppendVarint(b, int64(h.Sequence))
	}
	return b
}

// ParseRecords reads what AppendTo wrote, behind kind and version.
func ParseRecords(r Reader) (h Records, ok bool) {
	flags := r.Byte()
	if flags&^(flagProducer|flagTransactional|flagControl|flagFresh) != 0 {
		r.Fail()
	}
	h.Transactional, h.Control, h.Fresh = flags&flagTransactional != 0, flags&flagControl != 0, flags&flagFresh != 0
	h.Base = r.Natural()
	h.Last = h.Base + r.Natural()
	h.Epoch = r.Int32()
	h.Bytes = r.Int32Natural()
	h.Count = r.Int32Natural()
	h.MaxTime = r.Varint()
	h.MaxTimeAt = h.Base + r.Natural()
	h.Wall = r.Varint()
	h.ProducerID, h.ProducerEpoch, h.Sequence = -1, -1, -1
	if flags&flagProducer != 0 {
		h.ProducerID, h.ProducerEpoch, h.Sequence = r.Natural(), r.Int16(), r.Int32()
		if h.Sequence < -1 {
			r.Fail()
		}
	}
	if h.Last < h.Base || h.Last-h.Base > 1<<31-1 || h.MaxTimeAt < h.Base || h.MaxTimeAt > h.Last {
		r.Fail()
	}
	return h, r.Done()
}

// Open is the header of a segment's opening: its id but for Gen, which is the entry's Seq.
type Open struct{ Base int64 }

// AppendTo appends the header.
func (h Open) AppendTo(b []byte) []byte {
	return binary.AppendUvarint(AppendKind(b, KindOpen), uint64(h.Base))
}

// ParseOpen reads what AppendTo wrote, behind kind and version.
func ParseOpen(r Reader) (h Open, ok bool) {
	h.Base = r.Natural()
	return h, r.Done()
}

// Start is the header of a new log start offset.
type Start struct{ Start int64 }

// AppendTo appends the header.
func (h Start) AppendTo(b []byte) []byte {
	return binary.AppendUvarint(AppendKind(b, KindStart), uint64(h.Start))
}

// ParseStart reads what AppendTo wrote, behind kind and version.
func ParseStart(r Reader) (h Start, ok bool) {
	h.Start = r.Natural()
	return h, r.Done()
}
