package sim

import "github.com/orrery-log/orrery/core/env"

// queue is the one order of all that happens: by time, then by arrival in the queue.
type queue struct {
	items []item
	order uint64
}

type item struct {
	at    env.Time
	order uint64
	do    func()
}

func (q *queue) add(at env.Time, do func()) {
	q.order++
	q.items = append(q.items, item{at, q.order, do})
	i := len(q.items) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !q.items[i].before(q.items[up]) {
			break
		}
		q.items[i], q.items[up] = q.items[up], q.items[i]
		i = up
	}
}

func (a item) before(b item) bool { return a.at < b.at || a.at == b.at && a.order < b.order }

func (q *queue) empty() bool { return len(q.items) == 0 }

func (q *queue) next() item {
	top := q.items[0]
	last := len(q.items) - 1
	q.items[0] = q.items[last]
	q.items[last] = item{}
	q.items = q.items[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if q.items[child].before(q.items[least]) {
				least = child
			}
		}
		if least == i {
			return top
		}
		q.items[i], q.items[least] = q.items[least], q.items[i]
		i = least
	}
}
