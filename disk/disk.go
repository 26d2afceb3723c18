package disk

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/orrery-log/orrery/core/env"
)

// Options says where and how. Only Dir has no default.
type Options struct {
	Dir    string
	Logger *slog.Logger // default: none

	JournalFileBytes int64         // a journal file is left when it has this much
	GroupBytes       int64         // entries are framed together up to this size
	RoundBytes       int64         // under load an fsync is started when this much was written since the last
	SyncAge          time.Duration // entries that nobody waits for are synced when they are this old
	SealAfter        time.Duration // a quiet journal gets a frame that names all before it synced
	StoreSyncBytes   int64         // segments are synced when this much was written to them
	StoreSyncAge     time.Duration // or when the oldest byte is this old
	StoreLull        time.Duration // or when nothing was written to any for so long
	OpenSegments     int           // descriptors kept for segments
	Readers          int           // reads at a time
	PieceBytes       int64         // of a piece of Survived, at least one entry
	SpaceEvery       time.Duration // how often the free space is looked at

	hooks hooks
}

// hooks are where tests stand between us and the system.
type hooks struct {
	sync    func(f *os.File) error
	syncDir func(dir string) error
}

func (o Options) withDefaults() Options {
	const mib = 1 << 20
	set(&o.JournalFileBytes, 4*mib)
	set(&o.GroupBytes, mib)
	set(&o.RoundBytes, 4*mib)
	set(&o.SyncAge, 200*time.Millisecond)
	set(&o.SealAfter, time.Second)
	set(&o.StoreSyncBytes, 64*mib)
	set(&o.StoreSyncAge, 5*time.Second)
	set(&o.StoreLull, 200*time.Millisecond)
	set(&o.OpenSegments, 512)
	set(&o.Readers, 4)
	set(&o.PieceBytes, mib)
	set(&o.SpaceEvery, time.Second)
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if o.hooks.sync == nil {
		o.hooks.sync = syncData
	}
	if o.hooks.syncDir == nil {
		o.hooks.syncDir = syncDir
	}
	return o
}

func set[T int | int64 | time.Duration](v *T, d T) {
	if *v == 0 {
		*v = d
	}
}

// Disk is an open data directory.
type Disk struct {
	opts Options
	lock *os.File
	meta map[string]string

	entries *queue[env.Entry]
	cuts    *queue[env.Seq]
	work    *queue[segmentWork]
	toRead  *queue[env.Read]
	reaped  chan []string
	space   *space

	events  chan env.Event
	failed  chan error
	closing chan struct{} // closed by Close: finish what was asked, then end
	dead    chan struct{} // closed by the first error: stop
	die     sync.Once
	running sync.WaitGroup

	reserve  reserve
	handles  *handles
	survivor *survivor
	repaired bool
}

// Open takes the directory, creates what is missing, repairs the journal's tail,
// and starts. Survived then hands over what is there.
func Open(opts Options) (*Disk, error) {
	opts = opts.withDefaults()
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, err
	}
	opts.Dir = dir
	if err := makeDir(dir); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	lock, err := lock(dir)
	if err != nil {
		return nil, err
	}
	d := &Disk{opts: opts, lock: lock, entries: newQueue[env.Entry](), cuts: newQueue[env.Seq](), work: newQueue[segmentWork](),
		toRead: newQueue[env.Read](), reaped: make(chan []string, 16), space: newSpace(),
		events: make(chan env.Event, 1024), failed: make(chan error, 1), closing: make(chan struct{}), dead: make(chan struct{})}
	if err := d.start(); err != nil {
		lock.Close()
		return nil, err
	}
	return d, nil
}

func (d *Disk) start() error {
	dir := d.opts.Dir
	info, err := readFormat(dir)
	if err != nil {
		return err
	}
	if info.fresh {
		info.journal = drawNumber()
		if err := format(dir, info.journal); err != nil {
			return err
		}
	}
	if d.meta, err = readMeta(dir); err != nil {
		return err
	}
	// The names that a start before us left may not be durable.
	if err := makeDir(filepath.Join(dir, journalDir)); err != nil {
		return err
	}
	if err := makeDir(filepath.Join(dir, segmentsDir)); err != nil {
		return err
	}
	if err := syncDir(dir); err != nil {
		return err
	}
	s, err := takeSurvey(filepath.Join(dir, journalDir), info.journal)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	segments, err := listSegments(filepath.Join(dir, segmentsDir), d.opts.Logger)
	if err != nil {
		return fmt.Errorf("segments: %w", err)
	}
	d.report(s)
	if err := s.repair(filepath.Join(dir, straysDir)); err != nil {
		return fmt.Errorf("repair journal: %w", err)
	}
	d.repaired = s.torn
	d.survivor = newSurvivor(d, s, segments)
	j, err := openJournal(d, s)
	if err != nil {
		return err
	}
	d.reserve.refill()
	d.handles = newHandles(filepath.Join(dir, segmentsDir), d.opts.OpenSegments, &d.reserve)
	d.launch(j)
	return nil
}

// report says loudly what was found.
func (d *Disk) report(s *survey) {
	log := d.opts.Logger
	for _, name := range s.odd {
		log.Warn("a file in the journal is not ours: it is moved aside", "file", name, "to", straysDir)
	}
	for _, x := range s.walk.flaws {
		if s.walk.needed(x) {
			log.Error("the journal is damaged", "file", journalName(x.file), "byte", x.pos, "what", x.what, "after", x.after, "upto", x.upto)
		}
	}
	if s.torn {
		log.Warn("the journal ended in a torn write, which nobody was told is safe: it is cut off",
			"file", journalName(s.tear.file), "byte", s.kept, "bytes", s.size-s.kept, "last", s.walk.seq)
	}
}

// launch starts the goroutines. Each ends when the disk closes or dies.
func (d *Disk) launch(j *journal) {
	s := newSegments(d)
	journalDone, segmentsDone := make(chan struct{}), make(chan struct{})
	d.goes(func() { defer close(journalDone); j.run() })
	d.goes(func() { defer close(segmentsDone); s.run() })
	d.goes(func() { d.reap(journalDone) })
	for range d.opts.Readers {
		d.goes(func() { d.read(segmentsDone) })
	}
	d.goes(d.watchSpace)
}

func (d *Disk) goes(f func()) {
	d.running.Add(1)
	go func() {
		defer d.running.Done()
		f()
	}()
}

// Act takes the disk parts of an Outbox. It does not wait for the medium.
func (d *Disk) Act(out *env.Outbox) {
	d.space.spend(out)
	d.entries.put(out.Journal...)
	d.cuts.put(out.Cuts...)
	if n := len(out.Stores) + len(out.Drops) + len(out.Trims); n > 0 {
		work := make([]segmentWork, 0, n)
		for i := range out.Trims {
			work = append(work, segmentWork{trim: &env.Trim{Segment: out.Trims[i].Segment, End: out.Trims[i].End}})
		}
		for i := range out.Stores {
			work = append(work, segmentWork{store: out.Stores[i]})
		}
		for _, id := range out.Drops {
			work = append(work, segmentWork{drop: true, store: env.Store{Segment: id}})
		}
		d.work.put(work...)
	}
	d.toRead.put(out.Reads...)
}

// Events gives Journaled, Stored, Loaded and Space. Whoever reads it may be slow:
// the disk waits, and Act never waits for the disk.
func (d *Disk) Events() <-chan env.Event { return d.events }

// Failed gives the first error. After it nothing is confirmed any more, and the
// process must end: only a new start tells what is on the medium.
func (d *Disk) Failed() <-chan error { return d.failed }

func (d *Disk) fail(err error) {
	d.die.Do(func() {
		d.failed <- err
		close(d.dead)
	})
}

// emit hands over an event; it gives up when the disk closes or dies.
func (d *Disk) emit(ev env.Event) {
	select {
	case d.events <- ev:
	case <-d.closing:
	case <-d.dead:
	}
}

// Close carries out what Act took, syncs all of it, and gives the directory back.
// Events that nobody reads any more are dropped.
func (d *Disk) Close() error {
	close(d.closing)
	d.running.Wait()
	d.handles.closeAll()
	d.reserve.release()
	d.lock.Close()
	select {
	case err := <-d.failed:
		return err
	default:
		return nil
	}
}

// Repaired tells whether this start cut a torn tail off the journal. In a cluster
// such a node may have lost what it said was safe.
func (d *Disk) Repaired() bool { return d.repaired }

// Meta is the directory's facts, such as the cluster's id.
func (d *Disk) Meta() map[string]string { return maps.Clone(d.meta) }

// SetMeta replaces them, durably. It is not for concurrent use.
func (d *Disk) SetMeta(meta map[string]string) error {
	if err := writeMeta(d.opts.Dir, meta); err != nil {
		return err
	}
	d.meta = maps.Clone(meta)
	return nil
}

// reap unlinks journal files that are needed no more. The names come oldest first.
func (d *Disk) reap(journalDone <-chan struct{}) {
	work := func(paths []string) {
		for _, path := range paths {
			if err := os.Remove(path); err != nil {
				d.fail(fmt.Errorf("cut the journal: %w", err))
				return
			}
		}
		sync := func() error { return d.opts.hooks.syncDir(filepath.Join(d.opts.Dir, journalDir)) }
		if err := d.reserve.lend(sync); err != nil {
			d.fail(fmt.Errorf("cut the journal: %w", err))
		}
	}
	for {
		select {
		case paths := <-d.reaped:
			work(paths)
		case <-d.dead:
			return
		case <-journalDone:
			for {
				select {
				case paths := <-d.reaped:
					work(paths)
				default:
					return
				}
			}
		}
	}
}
