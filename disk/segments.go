package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/orrery-log/orrery/core/env"
)

// segments is the goroutine that owns all writing of segment files. A Store is
// written when it comes, since the core collects large ones; the fsync is lazy,
// and runs beside, in flights.
type segments struct {
	d    *Disk
	root string
	buf  []byte

	byID    map[env.SegmentID]*segment // those stored to in this life and not sealed
	dirty   []*segment                 // not synced, in the order in which they became so
	bytes   int64                      // not synced, of all
	last    time.Time                  // of the last store
	hurried int                        // how many of byID are to be synced now

	flight  []*segment // whose fsyncs are under way
	landed  chan error // they have ended
	closing bool
}

// segment is an open segment file.
type segment struct {
	id      env.SegmentID
	written int64
	synced  int64     // <= written
	since   time.Time // when the oldest byte that is not synced came
	hold    *handle   // while in dirty
	hurry   bool      // sync it now
	sealed  bool      // complete: its state goes with its last sync
	named   bool      // its name and its directories' are durable
	dropped bool

	flying   bool  // its fsync is under way
	syncedTo int64 // what is synced then
}

// segmentWork is a trim, a drop of store.Segment, or a store.
type segmentWork struct {
	trim  *env.Trim
	drop  bool
	store env.Store
}

func newSegments(d *Disk) *segments {
	return &segments{d: d, root: filepath.Join(d.opts.Dir, segmentsDir), byID: map[env.SegmentID]*segment{}, landed: make(chan error, 1)}
}

func (s *segments) run() {
	if err := s.loop(); err != nil {
		s.d.fail(fmt.Errorf("segments: %w", err))
	}
}

func (s *segments) loop() error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	closing := s.d.closing
	var work []segmentWork
	for {
		work = s.d.work.take(work[:0])
		for i := range work {
			if err := s.do(&work[i]); err != nil {
				return err
			}
			select { // a long queue must not keep a finished fsync waiting
			case err := <-s.landed:
				if err := s.land(err); err != nil {
					return err
				}
			default:
			}
		}
		clear(work)
		s.startFlight()
		if s.closing && len(s.flight) == 0 {
			return nil
		}
		timer.Reset(s.nextTimer())
		select {
		case err := <-s.landed:
			if err := s.land(err); err != nil {
				return err
			}
		case <-s.d.work.wake:
		case <-timer.C:
		case <-closing:
			s.closing, closing = true, nil
		case <-s.d.dead:
			return nil
		}
	}
}

func (s *segments) do(w *segmentWork) error {
	switch {
	case w.trim != nil:
		return s.trim(*w.trim)
	case w.drop:
		return s.drop(w.store.Segment)
	default:
		return s.store(&w.store)
	}
}

// store writes the bytes and tells that they can be read.
func (s *segments) store(w *env.Store) error {
	g, err := s.open(w.Segment, w.At)
	if err != nil {
		return err
	}
	if g.sealed || w.At != g.written {
		panic(fmt.Sprintf("disk: store at %d of %v, which has %d bytes (sealed %v)", w.At, w.Segment, g.written, g.sealed))
	}
	s.last = time.Now()
	before := g.written
	if err := s.write(g, w.Data); err != nil {
		return fmt.Errorf("write %s: %w", segmentPath(s.root, g.id), err)
	}
	s.bytes += g.written - before
	g.sealed = w.Seal
	if w.Sync || w.Seal {
		s.hurry(g)
	}
	s.d.emit(env.Stored{Segment: g.id, Written: g.written, Synced: g.synced})
	s.startFlight()
	return nil
}

// open finds or creates the segment, and takes hold of its file until it is synced.
func (s *segments) open(id env.SegmentID, at int64) (*segment, error) {
	g := s.byID[id]
	if g == nil {
		g = &segment{id: id}
		s.byID[id] = g
	}
	if g.hold != nil {
		return g, nil
	}
	if err := s.makeRoom(); err != nil {
		return nil, err
	}
	flag := os.O_RDWR
	if at == 0 && !g.named {
		// Its id is used once, ever: a file that is there already is not ours to write.
		flag |= os.O_CREATE | os.O_EXCL
	}
	hold, err := s.d.handles.acquire(id, flag)
	if errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0 {
		if err := os.MkdirAll(partitionDir(s.root, id.Log()), dirPerm); err != nil {
			return nil, err
		}
		hold, err = s.d.handles.acquire(id, flag)
	}
	if err != nil {
		return nil, err
	}
	if at > 0 && g.written == 0 { // stored in an earlier life and not trimmed in this one
		st, err := hold.f.Stat()
		if err != nil {
			return nil, err
		}
		g.written, g.synced = st.Size(), 0
	}
	g.hold, g.since = hold, time.Now()
	s.dirty = append(s.dirty, g)
	return g, nil
}

// write appends data to g. Small pieces are gathered: one call for about a MiB.
func (s *segments) write(g *segment, data [][]byte) error {
	const gather = 1 << 20
	flush := func(b []byte) error {
		n, err := g.hold.f.WriteAt(b, g.written)
		g.written += int64(n)
		return err
	}
	s.buf = s.buf[:0]
	for _, b := range data {
		if len(s.buf)+len(b) > gather && len(s.buf) > 0 {
			if err := flush(s.buf); err != nil {
				return err
			}
			s.buf = s.buf[:0]
		}
		if len(b) >= gather/4 && len(s.buf) == 0 {
			if err := flush(b); err != nil {
				return err
			}
			continue
		}
		s.buf = append(s.buf, b...)
	}
	if len(s.buf) == 0 {
		return nil
	}
	return flush(s.buf)
}

// trim cuts a file of an earlier life to End bytes, durably.
func (s *segments) trim(t env.Trim) error {
	if g := s.byID[t.Segment]; g != nil {
		panic(fmt.Sprintf("disk: trim of %v, which has %d bytes of this life", t.Segment, g.written))
	}
	path := segmentPath(s.root, t.Segment)
	flag := os.O_RDWR
	if t.End == 0 {
		flag |= os.O_CREATE
		if err := os.MkdirAll(filepath.Dir(path), dirPerm); err != nil {
			return err
		}
	}
	hold, err := s.d.handles.acquire(t.Segment, flag)
	if err != nil {
		return fmt.Errorf("trim: %w", err)
	}
	defer s.d.handles.release(hold)
	st, err := hold.f.Stat()
	if err != nil {
		return err
	}
	if st.Size() < t.End {
		return fmt.Errorf("trim %s to %d bytes: it has only %d", path, t.End, st.Size())
	}
	if st.Size() > t.End {
		if err := hold.f.Truncate(t.End); err != nil {
			return fmt.Errorf("trim: %w", err)
		}
		// A full fsync: the cut itself must not be undone.
		if err := hold.f.Sync(); err != nil {
			return fmt.Errorf("trim: %w", err)
		}
	}
	// Bytes that a checkpoint counts have a durable name; an empty file may have none.
	if t.End == 0 {
		if err := s.d.opts.hooks.sync(hold.f); err != nil {
			return fmt.Errorf("fsync %s: %w", path, err)
		}
		above := newDirs(s.root)
		above.add(t.Segment.Log())
		if err := above.sync(s.d.opts.hooks, &s.d.reserve); err != nil {
			return err
		}
	}
	s.byID[t.Segment] = &segment{id: t.Segment, written: t.End, synced: t.End, named: true}
	s.d.emit(env.Stored{Segment: t.Segment, Written: t.End, Synced: t.End})
	return nil
}

// drop removes a file, and its directories if they are empty then. It need not
// survive a crash: the core drops again what no entry names.
func (s *segments) drop(id env.SegmentID) error {
	if g := s.byID[id]; g != nil {
		g.dropped = true
		delete(s.byID, id)
		s.bytes -= g.written - g.synced
		s.calm(g)
		if !g.flying && g.hold != nil {
			s.forgetDirty(g)
			s.d.handles.release(g.hold)
		}
	}
	s.d.handles.forget(id)
	path := segmentPath(s.root, id)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("drop: %w", err)
	}
	if os.Remove(filepath.Dir(path)) == nil { // refused while anything is in it
		_ = os.Remove(filepath.Dir(filepath.Dir(path)))
	}
	return nil
}

func (s *segments) forgetDirty(g *segment) {
	for i := range s.dirty {
		if s.dirty[i] == g {
			s.dirty = append(s.dirty[:i], s.dirty[i+1:]...)
			return
		}
	}
}

func (s *segments) hurry(g *segment) {
	if !g.hurry {
		g.hurry = true
		s.hurried++
	}
}

func (s *segments) calm(g *segment) {
	if g.hurry {
		g.hurry = false
		s.hurried--
	}
}

func (s *segments) nextTimer() time.Duration {
	if len(s.flight) > 0 || len(s.dirty) == 0 {
		return time.Hour
	}
	return max(time.Until(s.dueAt()), 0)
}
