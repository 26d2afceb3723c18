package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tidwall/wal"

	"github.com/orrery-log/orrery/core/env"
)

// journal is the goroutine that owns the library's log, and all its state.
//
// A round in straight lines:
//
//	take what Act queued
//	put it into frames of about GroupBytes, write each with one call
//	if somebody waits for the medium and no fsync is under way: start one
//	an fsync came back: Synced is what was written before it started
//
// The fsync runs beside the writes, on a descriptor of our own. While it runs,
// small entries that wait for the medium anyway are held back, so that they
// share a frame.
type journal struct {
	d      *Disk
	dir    string
	log    *wal.Log
	batch  *wal.Batch
	number uint64
	frame  []byte // the last frame's bytes; its memory is used again
	tails  tails

	tail     *os.File // the last file, through a descriptor of our own
	tailSize int64    // as the library counts it: it rolls at JournalFileBytes
	dropped  int64    // bytes of it that left the page cache
	rolled   []*os.File
	files    []journalFile // oldest first, the tail last

	at      stand       // what was written
	synced  stand       // what is on the medium; synced.seq <= at.seq
	told    stand       // what the last event told: told.seq Written, told.synced Synced
	crc     uint32      // of the last frame's header; 0: there is none
	logs    logList     // of the last frame's entries
	pending []env.Entry // what is to be written, from head on
	head    int
	bytes   int64   // of pending
	eager   bool    // some of pending waits for Written, not for Synced
	last    env.Seq // of the last entry that came in
	wanted  env.Seq // somebody waits until this is synced
	cut     env.Seq // the core's last
	force   bool    // the last frame is to be synced though nobody waits

	oldest   time.Time // when the oldest entry that is not synced was written
	quiet    time.Time // when the last frame was written
	flight   *stand    // the fsync under way will bring synced to this
	since    int64     // bytes written since it started
	finished chan error
	closing  bool
}

// stand is how far the journal is at a frame.
type stand struct {
	index       uint64  // of the frame
	seq         env.Seq // the last so far
	cut, synced env.Seq // what the frame names
	size        int64   // of the file that the frame is in, behind it
	file        uint64  // the name of that file
}

// openJournal opens the library on a repaired directory, which ends in an empty file.
func openJournal(d *Disk, s *survey) (*journal, error) {
	log, err := wal.Open(s.dir, &wal.Options{NoSync: true, SegmentSize: int(d.opts.JournalFileBytes), SegmentCacheSize: 1,
		AllowEmpty: true, DirPerms: dirPerm, FilePerms: filePerm})
	if err != nil {
		return nil, fmt.Errorf("open journal %s: %w", s.dir, err)
	}
	w := &s.walk
	at := stand{index: w.index, seq: w.seq, cut: w.cut, synced: w.named, file: w.index + 1}
	j := &journal{d: d, dir: s.dir, log: log, batch: new(wal.Batch), number: w.journal, files: s.files,
		at: at, synced: at, told: stand{seq: w.seq, synced: w.seq}, crc: w.crc, logs: w.logs, last: w.seq, wanted: w.seq, cut: w.cut,
		quiet: time.Now(), finished: make(chan error, 1)}
	if last, err := log.LastIndex(); err != nil || last != w.index {
		log.Close()
		return nil, fmt.Errorf("open journal %s: the library ends at %d, the scan at %d (%v)", s.dir, last, w.index, err)
	}
	if j.tail, err = os.OpenFile(j.path(w.index+1), os.O_RDWR, 0); err != nil {
		log.Close()
		return nil, err
	}
	j.lend()
	return j, nil
}

func (j *journal) path(name uint64) string { return filepath.Join(j.dir, journalName(name)) }

// run is the goroutine. It ends when the disk is closed, or with the first error.
func (j *journal) run() {
	if err := j.loop(); err != nil {
		j.d.fail(fmt.Errorf("journal: %w", err))
	}
}

func (j *journal) loop() error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	closing := j.d.closing
	for {
		j.absorb()
		if j.frameDue() {
			if err := j.write(j.nextFrame()); err != nil {
				return err
			}
		}
		if err := j.timely(); err != nil {
			return err
		}
		if j.closing && j.frameless() && j.flight == nil {
			return j.finish()
		}
		wait := timer.C
		if j.frameDue() {
			wait = closedTimer
		} else {
			timer.Reset(j.nextTimer())
		}
		var events chan<- env.Event
		news := env.Journaled{Written: j.at.seq, Synced: j.synced.seq}
		if news.Written != j.told.seq || news.Synced != j.told.synced {
			events = j.d.events
		}
		select {
		case err := <-j.finished:
			if err := j.syncDone(err); err != nil {
				return err
			}
		case events <- news:
			j.told = stand{seq: news.Written, synced: news.Synced}
		case <-j.d.entries.wake:
		case <-j.d.cuts.wake:
		case <-wait:
		case <-closing:
			j.closing, closing = true, nil
		case <-j.d.dead:
			return nil
		}
	}
}

// closedTimer is always ready.
var closedTimer = func() <-chan time.Time { c := make(chan time.Time); close(c); return c }()

// absorb takes what Act queued.
func (j *journal) absorb() {
	from := len(j.pending)
	j.pending = j.d.entries.take(j.pending)
	for i := from; i < len(j.pending); i++ {
		e := &j.pending[i]
		if e.Seq <= j.last {
			panic(fmt.Sprintf("disk: entry %d comes after entry %d", e.Seq, j.last))
		}
		j.last = e.Seq
		j.bytes += e.Size()
		if e.Sync {
			j.wanted = e.Seq
		} else {
			j.eager = true
		}
	}
	for _, c := range j.d.cuts.take(nil) {
		j.cut = max(j.cut, c)
	}
}

func (j *journal) frameless() bool { return j.head == len(j.pending) }

// frameDue tells whether a frame is to be written now.
func (j *journal) frameDue() bool {
	if j.frameless() {
		return false
	}
	return j.flight == nil || j.eager || j.closing || j.bytes >= j.d.opts.GroupBytes
}

// nextFrame takes the entries of the next frame: about GroupBytes, without a gap.
func (j *journal) nextFrame() []env.Entry {
	p, n, size := j.pending[j.head:], 0, int64(0)
	for n < len(p) && (n == 0 || size+p[n].Size() <= j.d.opts.GroupBytes && p[n].Seq == p[n-1].Seq+1) {
		size += p[n].Size()
		n++
	}
	return p[:n]
}

// write writes one frame. entries are the first of pending; none: the frame only
// names how far the journal was synced and cut.
func (j *journal) write(entries []env.Entry) error {
	head := frameHead{journal: j.number, index: j.at.index + 1, first: j.at.seq + 1, synced: j.synced.seq, cut: j.cut, before: j.crc, logs: j.logs.logs}
	seq := j.at.seq
	if len(entries) > 0 {
		head.first, seq = entries[0].Seq, entries[len(entries)-1].Seq
	}
	j.frame, j.crc = appendFrame(j.frame[:0], head, entries)
	size := int64(prefixLen(len(j.frame)) + len(j.frame))
	rolls := j.tailSize+size >= j.d.opts.JournalFileBytes
	if rolls {
		// The library syncs a file before it leaves it. If an fsync under way failed,
		// that one might find clean pages and succeed, and the lost ones would count.
		if j.flight != nil {
			if err := j.syncDone(<-j.finished); err != nil {
				return err
			}
		}
		j.d.reserve.release() // the library is dead for good if it gets no descriptor now
	}
	j.batch.Write(head.index, j.frame)
	if err := j.log.WriteBatch(j.batch); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if int64(len(j.frame)) > 4*j.d.opts.GroupBytes { // buffers that only a huge entry needs
		j.frame, j.batch = nil, new(wal.Batch)
	}
	j.logs.reset()
	for i := range entries {
		j.logs.note(entries[i].Log, entries[i].Seq)
	}
	j.drop(len(entries))
	j.quiet = time.Now()
	if j.at.seq == j.synced.seq {
		j.oldest = j.quiet
	}
	j.tailSize += size
	j.since += size
	j.at = stand{index: head.index, seq: seq, cut: head.cut, synced: head.synced, size: j.tailSize, file: j.at.file}
	if rolls {
		return j.roll()
	}
	return nil
}

// drop forgets the first n of pending, which were written.
func (j *journal) drop(n int) {
	done := j.pending[j.head : j.head+n]
	for i := range done {
		j.bytes -= done[i].Size()
	}
	clear(done)
	j.head += n
	if j.frameless() {
		j.pending, j.head, j.eager = j.pending[:0], 0, false
	} else if j.head > len(j.pending)/2 {
		rest := copy(j.pending, j.pending[j.head:])
		clear(j.pending[rest:])
		j.pending, j.head = j.pending[:rest], 0
	}
}

// roll follows the library to the new file that it has just created, after it
// synced the old one. The new name must be durable before what will be in it is.
func (j *journal) roll() error {
	name := j.at.index + 1
	tail, err := os.OpenFile(j.path(name), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("the library did not roll: %w", err)
	}
	if err := j.d.opts.hooks.syncDir(j.dir); err != nil {
		return err
	}
	j.d.reserve.refill()
	dropCache(j.tail, 0, 0)
	j.rolled = append(j.rolled, j.tail)
	j.tail, j.tailSize, j.dropped = tail, 0, 0
	j.lend()
	j.files = append(j.files, journalFile{name: name, seq: j.at.seq + 1})
	j.at.file, j.at.size = name, 0
	return j.advance(j.at)
}

func (j *journal) lend() { j.tails.lend(j.log, j.d.opts.JournalFileBytes, 2*j.d.opts.GroupBytes) }

// timely does what is due: an fsync, or a frame that names what was synced.
func (j *journal) timely() error {
	if j.flight != nil {
		return nil
	}
	for _, f := range j.rolled {
		f.Close() // synced by the library; nothing is lost by an error here
	}
	j.rolled = j.rolled[:0]
	now := time.Now()
	if j.sealDue(now) {
		if err := j.write(nil); err != nil {
			return err
		}
		j.force = true
	}
	if j.syncDue(now) {
		j.startSync()
	}
	return nil
}

// syncDue: somebody waits for what was written and a round is complete, or it
// has waited long enough.
func (j *journal) syncDue(now time.Time) bool {
	if j.at.index == j.synced.index {
		return false
	}
	if j.wanted > j.synced.seq && j.at.seq > j.synced.seq && (j.frameless() || j.since >= j.d.opts.RoundBytes) {
		return true
	}
	if j.force || j.closing {
		return true
	}
	return j.at.seq > j.synced.seq && (now.Sub(j.oldest) >= j.d.opts.SyncAge || now.Sub(j.quiet) >= lull)
}

// lull is how long nothing is written before what nobody waits for is synced: the
// medium has nothing else to do, and a full journal may wait for a checkpoint.
const lull = 10 * time.Millisecond

// sealDue: all is quiet and synced, and no frame on the medium says so, or none
// names a cut that would free a file. Behind such a frame nothing synced can be
// taken for a tear.
func (j *journal) sealDue(now time.Time) bool {
	if !j.frameless() || j.at.index != j.synced.index || j.at.seq != j.synced.seq {
		return false
	}
	if now.Sub(j.quiet) < j.d.opts.SealAfter && !j.closing {
		return false
	}
	return j.sealWanted()
}

func (j *journal) sealWanted() bool {
	return j.at.synced < j.at.seq || j.cut > j.at.cut && len(j.files) > 1 && j.files[1].seq <= j.cut
}

func (j *journal) startSync() {
	flight := j.at
	j.flight, j.since, j.force = &flight, 0, false
	j.oldest = time.Now() // of what comes from now on
	tail, sync := j.tail, j.d.opts.hooks.sync
	go func() { j.finished <- sync(tail) }()
}

func (j *journal) syncDone(err error) error {
	if err != nil {
		return fmt.Errorf("fsync: %w", err) // final: a second one would answer nil
	}
	to := *j.flight
	j.flight = nil
	if to.file == j.at.file && to.size-j.dropped >= dropBytes {
		dropCache(j.tail, j.dropped, to.size-j.dropped)
		j.dropped = to.size &^ (pageSize - 1)
	}
	return j.advance(to)
}

const (
	dropBytes = 256 << 10
	pageSize  = 4096
)

// advance: all up to this stand is on the medium.
func (j *journal) advance(to stand) error {
	j.synced = to
	return j.reap()
}

// reap unlinks files of which nothing is needed, oldest first, once a frame on
// the medium names the cut: otherwise they would be missed at the next start. The
// library is not asked: its own truncation rewrites a file, and can not when the
// disk is full; it never looks at these files again.
func (j *journal) reap() error {
	var gone []string
	for len(j.files) > 1 && j.files[1].seq <= j.synced.cut && j.files[1].name <= j.synced.index {
		gone = append(gone, j.path(j.files[0].name))
		j.files = j.files[1:]
	}
	if len(gone) > 0 {
		select {
		case j.d.reaped <- gone:
		case <-j.d.dead:
		}
	}
	return nil
}

// nextTimer is how long there is nothing to do unasked.
func (j *journal) nextTimer() time.Duration {
	wait := time.Hour
	if j.flight != nil {
		return wait
	}
	if j.at.seq > j.synced.seq {
		wait = min(j.d.opts.SyncAge-time.Since(j.oldest), lull-time.Since(j.quiet))
	} else if j.sealWanted() {
		wait = j.d.opts.SealAfter - time.Since(j.quiet)
	}
	return max(wait, 0)
}

// finish leaves a journal whose last frame names all the others synced.
func (j *journal) finish() error {
	j.tail.Close()
	if err := j.log.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}
