package log

import (
	"fmt"

	"github.com/orrery-log/orrery/core/env"
)

// PlanState says what a read comes to.
type PlanState uint8

const (
	Ready      PlanState = iota // Data is the answer
	Load                        // issue a Read of Segment, At, MaxBytes and come back with what Loaded brings
	Empty                       // nothing to return: at the limit, or the first batch is larger than asked
	OutOfRange                  // from is before the start or behind the end
	Damaged                     // the records at from are lost
)

func (s PlanState) String() string {
	switch s {
	case Ready:
		return "ready"
	case Load:
		return "load"
	case Empty:
		return "empty"
	case OutOfRange:
		return "out of range"
	case Damaged:
		return "damaged"
	default:
		return fmt.Sprintf("state %d", uint8(s))
	}
}

// Plan is the next step of a read.
type Plan struct {
	State PlanState
	Data  []byte // Ready: whole batches; the first one contains the asked offset or is the first behind it

	// Load: what to read. Say Began when the Read is issued and Ended when it is
	// over, so that the file is not dropped under it.
	Segment  env.SegmentID
	At       int64
	MaxBytes int32
	Index    bool  // it reads the segment's index, not records
	Base     int64 // offset of the first record at At
}

// wish is what a reader asked for.
type wish struct {
	from, limit int64
	maxBytes    int32
	minOne      bool
}

// Read plans a read of whole batches from offset from on, none at or past limit,
// no more than maxBytes together; with minOne the first one comes however large
// it is.
func (l *Log) Read(cache *IndexCache, from, limit int64, maxBytes int32, minOne bool) Plan {
	w := wish{from, min(limit, l.end), maxBytes, minOne}
	if w.from < l.start || w.from > l.end {
		return Plan{State: OutOfRange}
	}
	lost := false
	if w.from, lost = l.damage.pass(w.from); w.from >= w.limit {
		return Plan{State: Empty}
	}
	if lost {
		return Plan{State: Damaged}
	}
	if inMemory(l, w.from) {
		return l.readTail(w)
	}
	return l.readSegment(cache, w)
}

// inMemory: a record is read from memory until its segment has Written it, and
// from the segment afterwards; there is no third place.
func inMemory(l *Log, offset int64) bool { return offset >= l.tail.base(l.end) }

// readTail answers from memory. One batch is given as it is, without a copy.
func (l *Log) readTail(w wish) Plan {
	first := l.tail.find(w.from)
	n, size := 0, int64(0)
	for i := first; i < len(l.tail.list); i++ {
		b := &l.tail.list[i]
		gap := i > first && b.base != l.tail.list[i-1].end
		if b.bytes == nil || gap || !fits(w, b.end, size, int64(len(b.bytes))) {
			break
		}
		n, size = n+1, size+int64(len(b.bytes))
	}
	switch {
	case n == 0:
		return Plan{State: Empty}
	case n == 1:
		return Plan{State: Ready, Data: l.tail.list[first].bytes}
	}
	data := make([]byte, 0, size)
	for i := first; i < first+n; i++ {
		data = append(data, l.tail.list[i].bytes...)
	}
	return Plan{State: Ready, Data: data}
}

// fits: a batch may follow size bytes of answer when it ends before the limit
// and within maxBytes; the first may be larger when one is wanted in any case.
func fits(w wish, end, size, more int64) bool {
	if !belowLimit(end, w.limit) {
		return false
	}
	return size+more <= int64(w.maxBytes) || size == 0 && w.minOne
}

// belowLimit: nothing at or past the limit is ever returned, and batches are whole.
func belowLimit(end, limit int64) bool { return end <= limit }
