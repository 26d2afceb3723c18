package log

import (
	"fmt"
	"sort"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
)

// tail is the batches in memory, in offset order, without gaps but for holes:
//
//	list:  gone | stored, not yet Written | in no Store yet
//	       0..head   head..next              next..len
type tail struct {
	list       []tailBatch
	head, next int
	bytes      int64 // of the batches from head on
	unstored   int64 // of the batches from next on
}

// tailBatch is one batch in memory.
type tailBatch struct {
	bytes     record.Batch // nil: a hole, its payload was damaged
	base, end int64
	epoch     int32
	maxTime   int64
	maxTimeAt int64
	wall      int64    // ms, when it was appended
	mono      env.Time // when it came into memory
	at        int64    // its byte in its segment, once in a Store; -1 before
}

func (t *tail) push(b tailBatch) {
	if n := len(t.list); n > t.head && t.list[n-1].end > b.base {
		panic(fmt.Sprintf("log: tail batch %d..%d behind %d", b.base, b.end, t.list[n-1].end))
	}
	t.list = append(t.list, b)
	t.bytes += int64(len(b.bytes))
	t.unstored += int64(len(b.bytes))
}

func (t *tail) empty() bool { return t.head == len(t.list) }

// base is the first offset in memory, or end when there is none.
func (t *tail) base(end int64) int64 {
	if t.empty() {
		return end
	}
	return t.list[t.head].base
}

func (t *tail) firstUnstored() *tailBatch {
	if t.next == len(t.list) {
		return nil
	}
	return &t.list[t.next]
}

// stored marks the first unstored batch as being in a Store at byte at.
func (t *tail) stored(at int64) {
	b := &t.list[t.next]
	b.at = at
	t.unstored -= int64(len(b.bytes))
	t.next++
}

// freeBefore forgets the batches that end at or before offset, stored or not.
func (t *tail) freeBefore(offset int64) {
	for t.head < len(t.list) && t.list[t.head].end <= offset {
		b := &t.list[t.head]
		t.bytes -= int64(len(b.bytes))
		if t.head == t.next {
			t.unstored -= int64(len(b.bytes))
			t.next++
		}
		*b = tailBatch{}
		t.head++
	}
	switch {
	case t.head == len(t.list):
		t.head, t.next = 0, 0
		if cap(t.list) > 64 { // an idle log keeps no room
			t.list = nil
		} else {
			t.list = t.list[:0]
		}
	case t.head >= 32 && t.head*2 >= len(t.list):
		n := copy(t.list, t.list[t.head:])
		clear(t.list[n:])
		t.list, t.next, t.head = t.list[:n], t.next-t.head, 0
	}
}

// find is the place in list of the batch that contains offset, or of the first
// one behind it; len(list) when there is none.
func (t *tail) find(offset int64) int {
	live := t.list[t.head:]
	return t.head + sort.Search(len(live), func(i int) bool { return live[i].end > offset })
}

// bytesFrom is the bytes of the batches that end behind offset.
func (t *tail) bytesFrom(offset int64) int64 {
	if t.empty() || t.list[len(t.list)-1].end <= offset {
		return 0
	}
	if t.list[t.head].end > offset {
		return t.bytes
	}
	size := int64(0)
	for _, b := range t.list[t.find(offset):] {
		size += int64(len(b.bytes))
	}
	return size
}

// fill puts the bytes of a hole in place, where a sound copy of the batch was found.
func (t *tail) fill(base, end int64, data record.Batch) bool {
	i := t.find(base)
	if i == len(t.list) || t.list[i].base != base || t.list[i].end != end || t.list[i].bytes != nil {
		return false
	}
	t.list[i].bytes = data
	t.bytes += int64(len(data))
	if i >= t.next {
		t.unstored += int64(len(data))
		return true
	}
	panic("log: a hole was stored during recovery")
}

// insert puts a batch where none is, between two that are here or before them
// all: its entry was cut after the batch had been carried to the journal's head,
// while the entries of later batches survived at their old place too.
func (t *tail) insert(b tailBatch) bool {
	i := t.find(b.base)
	if i < t.next || i < len(t.list) && t.list[i].base < b.end {
		return false
	}
	t.list = append(t.list, tailBatch{})
	copy(t.list[i+1:], t.list[i:])
	t.list[i] = b
	t.bytes += int64(len(b.bytes))
	t.unstored += int64(len(b.bytes))
	return true
}
