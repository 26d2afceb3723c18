package disk

import (
	"container/list"
	"os"
	"sync"

	"github.com/orrery-log/orrery/core/env"
)

// handles keeps the descriptors of segment files: at most max of them that nobody
// uses, the least recently used closed first. A segment that is not synced holds
// its handle: an error of its pages may be told to that descriptor only.
type handles struct {
	root    string
	max     int
	reserve *reserve

	mu   sync.Mutex
	byID map[env.SegmentID]*handle
	idle list.List // of *handle with refs 0, the longest idle first
}

type handle struct {
	id   env.SegmentID
	f    *os.File
	refs int
	gone bool          // dropped: closed with the last ref
	el   *list.Element // in idle, when refs is 0
}

func newHandles(root string, limit int, r *reserve) *handles {
	return &handles{root: root, max: limit, reserve: r, byID: map[env.SegmentID]*handle{}}
}

// acquire opens a segment, or takes the open one. flag is os.O_RDWR, and for a
// new one also os.O_CREATE and os.O_EXCL.
func (h *handles) acquire(id env.SegmentID, flag int) (*handle, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if x := h.byID[id]; x != nil {
		if flag&os.O_EXCL != 0 {
			return nil, os.ErrExist
		}
		if x.el != nil {
			h.idle.Remove(x.el)
			x.el = nil
		}
		x.refs++
		return x, nil
	}
	var f *os.File
	open := func() (err error) {
		f, err = os.OpenFile(segmentPath(h.root, id), flag, filePerm)
		return err
	}
	err := open()
	for noDescriptor(err) && h.idle.Len() > 0 {
		h.evict()
		err = open()
	}
	if noDescriptor(err) {
		err = h.reserve.lend(open)
	}
	if err != nil {
		return nil, err
	}
	x := &handle{id: id, f: f, refs: 1}
	h.byID[id] = x
	for len(h.byID) > h.max && h.idle.Len() > 0 {
		h.evict()
	}
	return x, nil
}

func (h *handles) evict() {
	x := h.idle.Remove(h.idle.Front()).(*handle)
	x.el = nil
	delete(h.byID, x.id)
	x.f.Close()
}

func (h *handles) release(x *handle) {
	h.mu.Lock()
	defer h.mu.Unlock()
	x.refs--
	if x.refs > 0 {
		return
	}
	if x.gone {
		x.f.Close()
		return
	}
	x.el = h.idle.PushBack(x)
	for len(h.byID) > h.max && h.idle.Len() > 0 {
		h.evict()
	}
}

// forget takes a segment that is dropped out of the set.
func (h *handles) forget(id env.SegmentID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	x := h.byID[id]
	if x == nil {
		return
	}
	delete(h.byID, id)
	if x.refs > 0 {
		x.gone = true
		return
	}
	h.idle.Remove(x.el)
	x.f.Close()
}

// full tells whether more handles are held than should be.
func (h *handles) full() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.byID) > h.max
}

func (h *handles) closeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.idle.Len() > 0 {
		h.evict()
	}
}
