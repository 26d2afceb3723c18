package wait

import (
	"math"

	"github.com/orrery-log/orrery/core/env"
)

// Never is the deadline of an empty heap: no Tick is due.
const Never env.Time = math.MaxInt64

// Timers holds values that wait for a time. Cancelling is lazy: the value is a
// ticket, and one that has ended is recognised as stale when its time comes.
// Whoever cancels calls Cancelled, and Sweep when Crowded says so, so that a
// million ended requests do not stay until their deadlines.
type Timers[V any] struct {
	heap  []timer[V]
	given uint64 // orders equal deadlines
	stale int    // cancelled and still in the heap, at most
}

type timer[V any] struct {
	at    env.Time
	order uint64
	value V
}

func (t *Timers[V]) less(i, j int) bool {
	a, b := &t.heap[i], &t.heap[j]
	return a.at < b.at || a.at == b.at && a.order < b.order
}

// Add lets value wait until at.
func (t *Timers[V]) Add(at env.Time, value V) {
	t.given++
	t.heap = append(t.heap, timer[V]{at, t.given, value})
	t.up(len(t.heap) - 1)
}

// Next is the earliest deadline, or Never.
func (t *Timers[V]) Next() env.Time {
	if len(t.heap) == 0 {
		return Never
	}
	return t.heap[0].at
}

// Pop takes the value with the earliest deadline when that is not after now.
func (t *Timers[V]) Pop(now env.Time) (value V, ok bool) {
	if len(t.heap) == 0 || t.heap[0].at > now {
		return value, false
	}
	value = t.heap[0].value
	last := len(t.heap) - 1
	t.heap[0] = t.heap[last]
	t.heap[last] = timer[V]{}
	t.heap = t.heap[:last]
	if last > 0 {
		t.down(0)
	}
	t.stale = min(t.stale, last)
	return value, true
}

// Len is the number of values in the heap, stale ones included.
func (t *Timers[V]) Len() int { return len(t.heap) }

// Cancelled counts a value that became stale.
func (t *Timers[V]) Cancelled() { t.stale = min(t.stale+1, len(t.heap)) }

// Crowded tells whether most of the heap is stale and a Sweep pays.
func (t *Timers[V]) Crowded() bool { return t.stale > 64 && t.stale*2 > len(t.heap) }

// Sweep removes the values that are not live.
func (t *Timers[V]) Sweep(live func(V) bool) {
	kept := t.heap[:0]
	for _, w := range t.heap {
		if live(w.value) {
			kept = append(kept, w)
		}
	}
	clear(t.heap[len(kept):])
	t.heap, t.stale = kept, 0
	for i := len(t.heap)/2 - 1; i >= 0; i-- {
		t.down(i)
	}
}

func (t *Timers[V]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !t.less(i, parent) {
			return
		}
		t.heap[i], t.heap[parent] = t.heap[parent], t.heap[i]
		i = parent
	}
}

func (t *Timers[V]) down(i int) {
	for {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(t.heap) && t.less(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		t.heap[i], t.heap[least] = t.heap[least], t.heap[i]
		i = least
	}
}
