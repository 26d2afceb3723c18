package disk

import (
	"sync/atomic"
	"time"

	"github.com/orrery-log/orrery/core/env"
)

// space watches the free bytes. A look at times is not enough: a fast producer
// takes a disk from its reserve to nothing in less than a second. So what was
// asked to be written since the last look is counted, and a sixteenth of what was
// free then is cause for another.
type space struct {
	asked     atomic.Int64
	allowance atomic.Int64
	look      chan struct{}
}

const leastLook = 1 << 20

func newSpace() *space {
	s := &space{look: make(chan struct{}, 1)}
	s.allowance.Store(leastLook)
	return s
}

// spend counts what an Outbox asks to be written.
func (s *space) spend(out *env.Outbox) {
	n := int64(0)
	for i := range out.Journal {
		n += out.Journal[i].Size()
	}
	for i := range out.Stores {
		for _, b := range out.Stores[i].Data {
			n += int64(len(b))
		}
	}
	if n == 0 || s.asked.Add(n) < s.allowance.Load() {
		return
	}
	select {
	case s.look <- struct{}{}:
	default: // somebody is about to
	}
}

func (s *space) looked(free int64) {
	s.asked.Store(0)
	s.allowance.Store(max(free/16, leastLook))
}

// watchSpace tells the free space at the start and whenever it changed much.
func (d *Disk) watchSpace() {
	ticker := time.NewTicker(d.opts.SpaceEvery)
	defer ticker.Stop()
	told := int64(-1)
	for {
		free, err := freeSpace(d.opts.Dir)
		if err != nil {
			d.opts.Logger.Warn("free space is not known", "error", err)
		} else {
			d.space.looked(free)
			if told < 0 || free > told+told/64 || free < told-told/64 || free == 0 && told != 0 {
				told = free
				d.emit(env.Space{Free: free})
			}
		}
		select {
		case <-ticker.C:
		case <-d.space.look:
		case <-d.closing:
			return
		case <-d.dead:
			return
		}
	}
}
