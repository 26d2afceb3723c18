package node

import (
	"context"
	"time"

	"github.com/orrery-log/orrery/net"
)

// rest gives memory back to the system when a broker has become quiet. Without it
// a burst's garbage would stay for minutes: nothing allocates, so nothing collects.
type rest struct {
	stats  func() net.Stats
	free   func() // collects, and returns what is free
	seen   int64  // bytes that had come and gone at the last look
	rested bool   // since the last traffic
}

// restEvery is the time between two looks, and quietBytes the traffic between
// them that is none: consumers that wait ask again and again.
const (
	restEvery  = 10 * time.Second
	quietBytes = 1 << 20
)

func (r *rest) run(ctx context.Context) {
	each := time.NewTicker(restEvery)
	defer each.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-each.C:
			r.look()
		}
	}
}

func (r *rest) look() {
	s := r.stats()
	moved := s.Received + s.Sent - r.seen
	r.seen += moved
	switch {
	case moved >= quietBytes:
		r.rested = false
	case !r.rested:
		r.rested = true
		r.free()
	}
}
