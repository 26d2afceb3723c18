package wait

import (
	"cmp"
	"fmt"
	"slices"
)

// Queue holds values that wait for a number. Keys are given in rising order, so
// first in is first out, but for Insert. The zero Queue is empty and costs no memory.
type Queue[K cmp.Ordered, V any] struct {
	items []item[K, V]
	head  int // items before it are gone
}

type item[K cmp.Ordered, V any] struct {
	key   K
	value V
}

// Push appends a value that waits for key; keys never fall.
func (q *Queue[K, V]) Push(key K, value V) {
	if n := len(q.items); n > q.head && key < q.items[n-1].key {
		panic(fmt.Sprintf("wait: key %v after %v", key, q.items[n-1].key))
	}
	q.items = append(q.items, item[K, V]{key, value})
}

// Insert adds a value that may wait for less than the last one does: a repeated
// batch waits for the end of its original. It stands behind those that wait for
// the same key.
func (q *Queue[K, V]) Insert(key K, value V) {
	i := len(q.items)
	for i > q.head && key < q.items[i-1].key {
		i--
	}
	q.items = slices.Insert(q.items, i, item[K, V]{key, value})
}

// Pop takes the first value when its key is at most upto.
func (q *Queue[K, V]) Pop(upto K) (value V, ok bool) {
	if q.head == len(q.items) || q.items[q.head].key > upto {
		return value, false
	}
	value = q.items[q.head].value
	q.items[q.head] = item[K, V]{}
	q.head++
	q.compact()
	return value, true
}

// Drain takes the first value whatever it waits for: when all must end.
func (q *Queue[K, V]) Drain() (value V, ok bool) {
	if q.head == len(q.items) {
		return value, false
	}
	return q.Pop(q.items[q.head].key)
}

// First is the key of the first value.
func (q *Queue[K, V]) First() (key K, ok bool) {
	if q.head == len(q.items) {
		return key, false
	}
	return q.items[q.head].key, true
}

// Len is the number of values that wait.
func (q *Queue[K, V]) Len() int { return len(q.items) - q.head }

// compact moves the rest to the front once half is gone, so that a queue that
// never becomes empty does not grow for ever: each item moves at most once.
func (q *Queue[K, V]) compact() {
	switch {
	case q.head == len(q.items):
		q.items, q.head = q.items[:0], 0
	case q.head >= 32 && q.head*2 >= len(q.items):
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
}
