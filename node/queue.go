package node

import (
	"sync"

	"github.com/orrery-log/orrery/core/env"
)

// queue holds the events for the loop: what clients ask, and what ends work that
// the broker has begun (Sent, Done, and the disk's words, which come by a channel
// of their own).
//
// Requests are bounded, by number: their bytes are bounded by net. A full queue
// makes connections' readers wait, and only them. Completions need no bound of
// their own: there is at most one for each effect in flight, and the core's
// budgets bound those; so who completes something never waits for the loop, and
// the loop never waits for anyone: that is why the two can not block each other.
//
// Both are taken at once, completions first. So the order "Sent before Hangup",
// which net keeps, holds in what the loop sees: a Sent that was put before a
// Hangup is in the same batch and before it, or in an earlier one.
type queue struct {
	mu          sync.Mutex
	room        sync.Cond // requests have been taken, or it is closed
	max         int
	requests    []env.Event
	completions []env.Event
	closed      bool
	wake        chan struct{} // holds one token when there may be something to take
}

func newQueue(max int) *queue {
	q := &queue{max: max, wake: make(chan struct{}, 1)}
	q.room.L = &q.mu
	return q
}

// put takes an event of net. It waits while the queue is full; after close it
// drops the event.
func (q *queue) put(ev env.Event) {
	if _, completes := ev.(env.Sent); completes {
		q.complete(ev)
		return
	}
	q.mu.Lock()
	for len(q.requests) >= q.max && !q.closed {
		q.room.Wait()
	}
	if q.closed {
		q.mu.Unlock()
		return
	}
	first := len(q.requests) == 0
	q.requests = append(q.requests, ev)
	q.mu.Unlock()
	if first {
		q.ring()
	}
}

// complete takes the end of something that the broker began. It never waits.
func (q *queue) complete(ev env.Event) {
	q.mu.Lock()
	first := len(q.completions) == 0
	q.completions = append(q.completions, ev)
	q.mu.Unlock()
	if first {
		q.ring()
	}
}

func (q *queue) ring() {
	select {
	case q.wake <- struct{}{}:
	default: // a token is there already
	}
}

// take appends all that is here to batch.
func (q *queue) take(batch []env.Event) []env.Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch = append(append(batch, q.completions...), q.requests...)
	clear(q.completions)
	clear(q.requests)
	full := len(q.requests) >= q.max
	q.completions, q.requests = q.completions[:0], q.requests[:0]
	if full {
		q.room.Broadcast()
	}
	return batch
}

// close lets nobody wait any more; requests that come later are dropped.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.room.Broadcast()
	q.mu.Unlock()
}
