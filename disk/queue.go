package disk

import "sync"

// queue hands work from Act to the goroutine that owns it. It has no bound of its
// own: the core's budgets bound what is in flight, so put never waits.
type queue[T any] struct {
	mu    sync.Mutex
	items []T
	head  int           // items before it were taken by one
	wake  chan struct{} // holds one token while there may be items
}

func newQueue[T any]() *queue[T] { return &queue[T]{wake: make(chan struct{}, 1)} }

func (q *queue[T]) put(items ...T) {
	if len(items) == 0 {
		return
	}
	q.mu.Lock()
	q.items = append(q.items, items...)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take appends all waiting items to dst.
func (q *queue[T]) take(dst []T) []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	dst = append(dst, q.items[q.head:]...)
	clear(q.items)
	q.items, q.head = q.items[:0], 0
	return dst
}

// one takes the oldest item. Where several goroutines take, each passes the token on.
func (q *queue[T]) one() (item T, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.head == len(q.items) {
		return item, false
	}
	item = q.items[q.head]
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
		return item, true
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return item, true
}
