package net

import (
	"slices"
	"sync"
	"time"
)

// budget counts the bytes of frames in hand, over all connections.
//
// A frame takes its bytes piece by piece, as they arrive, so frames that are half
// here could together hold the whole budget and none could be completed. Hence
// the pass: one claim at a time may go beyond the budget. It keeps the pass until
// it is given back. So at most max plus one frame is in hand, and there is always
// one frame that can go on; a frame larger than the whole budget is served too.
type budget struct {
	mu      sync.Mutex
	max     int64
	used    int64 // what claims hold, the pass's included
	passed  bool  // some claim has the pass
	waiting []*waiter
}

// claim is what one frame holds of a budget.
type claim struct {
	of    *budget
	bytes int64
	pass  bool
}

type waiter struct {
	c     *claim
	n     int64
	ready chan struct{} // closed when c has got n
}

// take adds n bytes to the claim. It waits, in arrival order, until they are free,
// and gives up at the deadline or when gone is closed.
func (b *budget) take(c *claim, n int64, deadline time.Time, gone <-chan struct{}) bool {
	b.mu.Lock()
	c.of = b
	if (c.pass || len(b.waiting) == 0) && b.grant(c, n) {
		b.mu.Unlock()
		return true
	}
	w := &waiter{c, n, make(chan struct{})}
	b.waiting = append(b.waiting, w)
	b.mu.Unlock()

	late := time.NewTimer(time.Until(deadline))
	defer late.Stop()
	select {
	case <-w.ready:
		return true
	case <-late.C:
	case <-gone:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, w); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
	return false // what was granted meanwhile is in the claim, and goes back with it
}

// takeHalf takes n bytes if half of the budget stays free and nobody waits.
func (b *budget) takeHalf(c *claim, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) > 0 || b.used+n > b.max/2 {
		return false
	}
	c.of = b
	b.used += n
	c.bytes += n
	return true
}

// grant needs the lock.
func (b *budget) grant(c *claim, n int64) bool {
	if b.used+n > b.max && !c.pass {
		if b.passed {
			return false
		}
		b.passed, c.pass = true, true
	}
	b.used += n
	c.bytes += n
	return true
}

// giveBack ends a claim.
func (c *claim) giveBack() {
	b := c.of
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= c.bytes
	if c.pass {
		b.passed = false
	}
	*c = claim{}
	for len(b.waiting) > 0 && b.grant(b.waiting[0].c, b.waiting[0].n) {
		close(b.waiting[0].ready)
		b.waiting = b.waiting[1:]
	}
}

// inHand is what all claims hold.
func (b *budget) inHand() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
