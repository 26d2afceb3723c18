package sim

import (
	"fmt"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
)

// hash is the rolling hash of a run: of every event before its Step and of every
// Outbox before it is carried out. Two runs of a seed must agree at every mark.
type hash struct {
	sum   uint64
	count uint64
	marks []uint64 // after every markEvery additions
}

const markEvery = 1 << 14

func (h *hash) add(x uint64) {
	h.sum = mix(h.sum ^ x + 0x9e3779b97f4a7c15)
	if h.count++; h.count%markEvery == 0 {
		h.marks = append(h.marks, h.sum)
	}
}

func (h *hash) bytes(b []byte) { h.add(uint64(record.CRC(b))<<32 | uint64(uint32(len(b)))) }

func (h *hash) frame(b []byte) { h.bytes(b) }

func (h *hash) segment(id env.SegmentID) {
	h.bytes(id.Topic[:])
	h.add(uint64(id.Partition)<<32 ^ uint64(id.Base))
	h.add(id.Gen)
}

// event reads an event before Step does. A Request was hashed as its frame.
func (h *hash) event(now env.Now, ev env.Event) {
	h.add(uint64(now.Mono))
	h.add(uint64(now.Wall))
	switch e := ev.(type) {
	case env.Survived:
		h.add(1)
		for i := range e.Segments {
			h.segment(e.Segments[i].ID)
			h.add(uint64(e.Segments[i].Size))
		}
		for i := range e.Checkpoints {
			h.entry(&e.Checkpoints[i])
		}
		for i := range e.Entries {
			h.entry(&e.Entries[i])
		}
	case env.Tick:
		h.add(2)
	case env.Opened:
		h.add(3)
		h.add(uint64(e.Conn))
	case env.Request:
		h.add(4)
		h.add(uint64(e.Conn))
		h.add(e.N)
	case env.Sent:
		h.add(5)
		h.add(uint64(e.Conn))
		h.add(e.N)
	case env.Hangup:
		h.add(6)
		h.add(uint64(e.Conn))
	case env.Journaled:
		h.add(7)
		h.add(uint64(e.Written))
		h.add(uint64(e.Synced))
	case env.Stored:
		h.add(8)
		h.segment(e.Segment)
		h.add(uint64(e.Written))
		h.add(uint64(e.Synced))
	case env.Loaded:
		h.add(9)
		h.add(uint64(e.Read))
		h.bytes(e.Data)
	case env.Done:
		h.add(10)
		h.add(uint64(e.Job))
		h.bytes(e.Data)
	case env.Space:
		h.add(11)
		h.add(uint64(e.Free))
	default:
		panic(fmt.Sprintf("sim: unknown event %T", ev))
	}
}

func (h *hash) entry(e *env.Entry) {
	h.add(uint64(e.Seq))
	h.bytes(e.Header)
	h.bytes(e.Payload)
}

// outbox reads an Outbox; the bodies of replies are hashed when they are sealed.
func (h *hash) outbox(out *env.Outbox) {
	for i := range out.Journal {
		h.entry(&out.Journal[i])
	}
	for _, c := range out.Cuts {
		h.add(uint64(c))
	}
	for i := range out.Stores {
		s := &out.Stores[i]
		h.segment(s.Segment)
		h.add(uint64(s.At))
		for _, b := range s.Data {
			h.bytes(b)
		}
	}
	for i := range out.Reads {
		h.add(uint64(out.Reads[i].Read))
		h.segment(out.Reads[i].Segment)
		h.add(uint64(out.Reads[i].At))
	}
	for i := range out.Drops {
		h.segment(out.Drops[i])
	}
	for i := range out.Trims {
		h.segment(out.Trims[i].Segment)
		h.add(uint64(out.Trims[i].End))
	}
	for i := range out.Jobs {
		h.add(uint64(out.Jobs[i].Job))
		h.bytes(out.Jobs[i].Data)
	}
	for i := range out.Replies {
		h.add(uint64(out.Replies[i].Conn))
		h.add(out.Replies[i].N)
	}
}
