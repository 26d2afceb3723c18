package disk

import (
	"errors"
	"io"
	"os"

	"github.com/orrery-log/orrery/core/env"
)

// read is one of a few goroutines that answer Reads, in any order.
func (d *Disk) read(segmentsDone <-chan struct{}) {
	for {
		select {
		case <-d.toRead.wake:
		case <-segmentsDone:
			return
		case <-d.dead:
			return
		}
		for {
			r, ok := d.toRead.one()
			if !ok {
				break
			}
			d.emit(d.load(r))
		}
	}
}

// load reads up to MaxBytes, or what is there. A segment that can not be read is
// damaged: it is the core that knows what that means for its log.
func (d *Disk) load(r env.Read) env.Loaded {
	damaged := func(err error) env.Loaded {
		d.opts.Logger.Error("a segment can not be read", "segment", segmentPath(d.handles.root, r.Segment), "byte", r.At, "error", err)
		return env.Loaded{Read: r.Read, Damaged: true}
	}
	h, err := d.handles.acquire(r.Segment, os.O_RDWR)
	if err != nil {
		return damaged(err)
	}
	defer d.handles.release(h)
	st, err := h.f.Stat()
	if err != nil {
		return damaged(err)
	}
	size := min(int64(r.MaxBytes), st.Size()-r.At)
	if size <= 0 {
		return env.Loaded{Read: r.Read}
	}
	data := make([]byte, size)
	n, err := h.f.ReadAt(data, r.At)
	if err != nil && !errors.Is(err, io.EOF) {
		return damaged(err)
	}
	return env.Loaded{Read: r.Read, Data: data[:n]}
}
