package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/orrery-log/orrery/core/env"
)

// The fsyncs of segments fly together, one flight at a time: a large segment alone,
// so that it does not hold up the journal's fsync for long, or many small ones,
// which the file system commits at once. Ten thousand logs that have each a little
// to store are synced in seconds so, and one by one in minutes.
const (
	flightFiles = 256
	flightBytes = 4 << 20
	flightWidth = 32 // calls at a time
)

// startFlight starts the next fsyncs if some are due and none are under way.
func (s *segments) startFlight() {
	if len(s.flight) > 0 || len(s.dirty) == 0 {
		return
	}
	if s.bytes >= s.d.opts.StoreSyncBytes || s.closing || s.d.handles.full() {
		for _, g := range s.dirty {
			s.hurry(g)
		}
	}
	if s.flight = s.takeDue(time.Now()); len(s.flight) == 0 {
		return
	}
	files, dirs := make([]*os.File, len(s.flight)), newDirs(s.root)
	for i, g := range s.flight {
		g.flying, g.syncedTo = true, g.written
		s.calm(g)
		files[i] = g.hold.f
		if !g.named {
			dirs.add(g.id.Log())
		}
	}
	go func() {
		err := together(len(files), func(i int) error {
			if err := s.d.opts.hooks.sync(files[i]); err != nil {
				return fmt.Errorf("fsync %s: %w", files[i].Name(), err) // final: a second one would answer nil
			}
			return nil
		})
		if err == nil {
			err = dirs.sync(s.d.opts.hooks, &s.d.reserve)
		}
		s.landed <- err
	}()
}

// takeDue takes the next flight out of dirty, if one is due: those in a hurry, then
// the longest dirty. What is not due goes with the others while there is room: it
// costs little then, and the journal's cut may wait for it as much as for them.
func (s *segments) takeDue(now time.Time) []*segment {
	if s.hurried == 0 && now.Before(s.dueAt()) {
		return nil
	}
	var due []*segment
	bytes := int64(0)
	for _, hurry := range []bool{true, false} {
		rest := s.dirty[:0]
		for _, g := range s.dirty {
			size := g.written - g.synced
			fits := len(due) == 0 || len(due) < flightFiles && bytes+size <= flightBytes
			if fits && g.hurry == hurry {
				due, bytes = append(due, g), bytes+size
			} else {
				rest = append(rest, g)
			}
		}
		clear(s.dirty[len(rest):])
		s.dirty = rest
	}
	return due
}

// dueAt is when dirty is to be synced though nothing hurries: when the oldest is
// old, or in a lull, since a journal that is full lets nobody go on until then.
func (s *segments) dueAt() time.Time {
	old, lull := s.dirty[0].since.Add(s.d.opts.StoreSyncAge), s.last.Add(s.d.opts.StoreLull)
	if lull.Before(old) {
		return lull
	}
	return old
}

// land learns that a flight is over, and starts the next.
func (s *segments) land(err error) error {
	if err != nil {
		return err
	}
	for _, g := range s.flight {
		g.flying = false
		if g.dropped {
			s.d.handles.release(g.hold)
			continue
		}
		s.bytes -= g.syncedTo - g.synced
		g.synced, g.named = g.syncedTo, true
		s.d.emit(env.Stored{Segment: g.id, Written: g.written, Synced: g.synced})
		if g.synced < g.written || g.hurry {
			g.since = time.Now()
			s.dirty = append(s.dirty, g)
			continue
		}
		s.d.handles.release(g.hold)
		g.hold = nil
		if g.sealed {
			delete(s.byID, g.id)
		}
	}
	s.flight = nil
	s.startFlight()
	return nil
}

// makeRoom waits for fsyncs while more descriptors are held than should be: each
// segment holds its own until it is synced, and the process has only so many.
func (s *segments) makeRoom() error {
	for s.d.handles.full() {
		s.startFlight()
		if len(s.flight) == 0 {
			return nil // readers hold them
		}
		select {
		case err := <-s.landed:
			if err := s.land(err); err != nil {
				return err
			}
		case <-s.d.dead:
			return nil
		}
	}
	return nil
}

// dirs are the directories whose new names are to be made durable: of partitions,
// of their topics, and the root.
type dirs struct {
	root string
	list []string
	seen map[string]bool
}

func newDirs(root string) *dirs { return &dirs{root: root, seen: map[string]bool{}} }

func (d *dirs) add(id env.LogID) {
	dir := partitionDir(d.root, id)
	for _, dir := range []string{dir, filepath.Dir(dir), d.root} {
		if !d.seen[dir] {
			d.seen[dir] = true
			d.list = append(d.list, dir)
		}
	}
}

func (d *dirs) sync(hooks hooks, spare *reserve) error {
	return together(len(d.list), func(i int) error {
		err := spare.lend(func() error { return hooks.syncDir(d.list[i]) })
		if errors.Is(err, fs.ErrNotExist) { // its last file was dropped meanwhile
			return nil
		}
		return err
	})
}

// together calls f for each of 0..n-1, some at a time, and returns the first error.
func together(n int, f func(int) error) error {
	if n == 1 {
		return f(0)
	}
	errs := make([]error, n)
	slots := make(chan struct{}, flightWidth)
	var calls sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		calls.Go(func() {
			errs[i] = f(i)
			<-slots
		})
	}
	calls.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
