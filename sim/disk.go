package sim

import (
	"fmt"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
)

// disk is the simulated disk of one node: the driver's side of the contract,
// with two copies of everything where they can differ: what is written (it
// survives the process) and what is on the medium (it survives loss of power).
//
// Every effect is an operation with a time of its own, so that effects are
// carried out in any order; a crash leaves any part of the unfinished ones undone.
type disk struct {
	w    *world
	plan DiskPlan
	life uint64 // operations of an earlier life find that they are late
	ops  uint64 // operations drawn so far

	journal  journalFile
	files    map[env.SegmentID]*file
	names    []env.SegmentID // of files, in the order of their making
	dropped  []*file         // unlinked, and the directory not yet synced
	reads    map[env.ReadID]*readOp
	slowness int64    // every operation takes so many times as long
	hungTill env.Time // no operation ends before
	syncTill env.Time // no sync ends before
}

// journalFile is the journal. entries[i] has Seq first+i.
type journalFile struct {
	entries []env.Entry
	sums    []uint32 // of the bytes when they came in
	made    []env.Time
	first   env.Seq
	written env.Seq // entries up to here are in the operating system's hands
	synced  env.Seq
	told    env.Journaled
	writing bool
	syncing bool
	aging   bool
	cut     env.Seq // the highest cut asked for
	rotten  map[env.Seq]bool
	lost    map[env.Seq]bool // header and all
	// unlisted: and the list of the logs that it may have concerned.
	unlisted map[env.Seq]bool
	wanted   env.Seq // somebody waits for the medium up to here
}

// file is one segment file.
type file struct {
	id      env.SegmentID
	data    []byte // what a read sees
	end     int64  // data is whole before it
	synced  int64  // on the medium before it, name included
	told    env.Stored
	pending []*storeOp
	seal    int64 // where a Seal ends it; -1: none yet
	sealed  bool
	reads   int // outstanding
	hurry   bool
	syncing bool
	aging   bool
	trim    *env.Trim // on its way
	refused bool      // the medium refuses to read it
	touched int64     // the highest byte ever given in a Store of this life
}

type storeOp struct {
	store env.Store
	sums  []uint32
	done  bool
}

type readOp struct {
	read env.Read
	data []byte
}

func newDisk(w *world, plan DiskPlan) *disk {
	return &disk{w: w, plan: plan, slowness: 1, files: map[env.SegmentID]*file{}, reads: map[env.ReadID]*readOp{},
		journal: journalFile{first: 1, rotten: map[env.Seq]bool{}, lost: map[env.Seq]bool{}, unlisted: map[env.Seq]bool{}}}
}

// after does something once an operation that takes a drawn time is over, unless
// the process died meanwhile.
func (d *disk) after(p purpose, s Span, do func()) {
	d.ops++
	life := d.life
	took := d.w.dice.within(p, 0, d.ops, s) * env.Time(d.slowness)
	at := max(d.w.now+took, d.hungTill)
	if p == drawJournalSync || p == drawStoreSync {
		at = max(at, d.syncTill)
	}
	d.w.queue.add(at, func() {
		if d.life != life {
			return
		}
		if wait := d.waits(p); wait > d.w.now {
			d.w.queue.add(wait, func() {
				if d.life == life {
					d.w.ioDone(do)
				}
			})
			return
		}
		d.w.ioDone(do)
	})
}

// waits is when a hang that began meanwhile ends for an operation.
func (d *disk) waits(p purpose) env.Time {
	if p == drawJournalSync || p == drawStoreSync {
		return max(d.hungTill, d.syncTill)
	}
	return d.hungTill
}

// tell hands an event to the broker some time after it came true.
func (d *disk) tell(do func()) {
	d.ops++
	life := d.life
	at := d.w.now + d.w.dice.within(drawDeliver, 0, d.ops, d.plan.Deliver)
	d.w.queue.add(at, func() {
		if d.life == life {
			do()
		}
	})
}

// act takes the disk's part of an Outbox. The order in which the kinds are
// taken is drawn, because law 3 promises none.
func (d *disk) act(out *env.Outbox) {
	d.ops++
	order := d.w.dice.draw(drawOrder, 0, d.ops)
	for i := range uint64(5) {
		switch (order + i) % 5 {
		case 0:
			d.append(out.Journal)
		case 1:
			d.store(out.Stores, order)
		case 2:
			d.read(out.Reads)
		case 3:
			d.cutAndDrop(out)
		case 4:
			d.trim(out.Trims)
		}
	}
}

// --- the journal

func (d *disk) last() env.Seq { return d.journal.first + env.Seq(len(d.journal.entries)) - 1 }

func (d *disk) append(entries []env.Entry) {
	if len(entries) == 0 {
		return
	}
	j := &d.journal
	for i := range entries {
		e := entries[i]
		d.w.forms.journaled(&e)
		if e.Seq != d.last()+1 {
			d.w.fail(lawBroken, "law 3: journal entry %d after %d", e.Seq, d.last())
		}
		j.entries = append(j.entries, e)
		j.sums = append(j.sums, sum(e.Header, e.Payload))
		j.made = append(j.made, d.w.now)
		if e.Sync {
			d.journal.wanted = max(j.wanted, e.Seq)
		}
	}
	d.writeJournal()
}

// writeJournal writes a drawn part of what waits, then whoever waits is synced.
func (d *disk) writeJournal() {
	j := &d.journal
	if j.writing || j.written == d.last() {
		return
	}
	j.writing = true
	d.after(drawJournalWrite, d.plan.Write, func() {
		j.writing = false
		upto := d.last()
		if n := int64(upto - j.written); n > 1 && d.w.dice.chance(drawJournalWrite, 1, d.ops, 300) {
			upto = j.written + 1 + env.Seq(d.w.dice.below(drawJournalWrite, 2, d.ops, n))
		}
		for s := j.written + 1; s <= upto; s++ {
			d.settleEntry(s)
		}
		j.written = upto
		d.tellJournal()
		d.syncJournal()
		d.writeJournal()
	})
}

// settleEntry takes an entry out of the broker's memory into the disk's own, and
// holds that its bytes did not change on the way (law 1).
func (d *disk) settleEntry(s env.Seq) {
	j := &d.journal
	e := &j.entries[s-j.first]
	if sum(e.Header, e.Payload) != j.sums[s-j.first] {
		d.w.fail(lawBroken, "law 1: bytes of journal entry %d changed after their Outbox", s)
	}
	e.Header = append([]byte(nil), e.Header...)
	e.Payload = append([]byte(nil), e.Payload...)
}

func (d *disk) syncJournal() {
	j := &d.journal
	if j.syncing || j.synced == j.written {
		return
	}
	if d.journal.wanted <= j.synced {
		if !j.aging {
			j.aging = true
			d.after(drawJournalSync, Span{d.plan.Age / 2, d.plan.Age}, func() {
				j.aging = false
				d.journal.wanted = max(d.journal.wanted, j.written)
				d.syncJournal()
			})
		}
		return
	}
	j.syncing = true
	upto := j.written
	d.after(drawJournalSync, d.plan.Sync, func() {
		j.syncing = false
		j.synced = upto
		d.tellJournal()
		d.syncJournal()
	})
}

// safeTime: every entry that came in before it is on the medium.
func (d *disk) safeTime() env.Time {
	j := &d.journal
	if j.synced == d.last() {
		return d.w.now + 1
	}
	return j.made[j.synced+1-j.first]
}

func (d *disk) tellJournal() {
	d.tell(func() {
		j := &d.journal
		if j.told.Written == j.written && j.told.Synced == j.synced {
			return
		}
		j.told = env.Journaled{Written: j.written, Synced: j.synced}
		if d.w.noted > 0 && j.synced >= d.w.noted {
			d.w.accepted = nil // the operator's note is taken away when what it asked for is on the medium
		}
		d.w.step(j.told)
	})
}

// --- segments

func (d *disk) store(stores []env.Store, order uint64) {
	for i := range stores {
		s := stores[(uint64(i)+order)%uint64(len(stores))]
		f := d.files[s.Segment]
		if f == nil {
			f = d.create(s.Segment)
		}
		d.checkStore(f, &s)
		op := &storeOp{store: s, sums: make([]uint32, len(s.Data))}
		op.store.Data = append([][]byte(nil), s.Data...) // the Outbox stays the driver's
		for k, b := range s.Data {
			op.sums[k] = sum(b, nil)
		}
		f.pending = append(f.pending, op)
		if s.Seal {
			f.seal = s.At + storeSize(&s)
		}
		f.hurry = f.hurry || s.Sync || s.Seal
		d.after(drawStore, d.plan.Store, func() { d.write(f, op) })
	}
}

func storeSize(s *env.Store) int64 {
	n := int64(0)
	for _, b := range s.Data {
		n += int64(len(b))
	}
	return n
}

// create makes a file. Its name is on the medium with its first sync.
func (d *disk) create(id env.SegmentID) *file {
	f := &file{id: id, seal: -1}
	f.told.Segment = id
	d.files[id] = f
	d.names = append(d.names, id)
	return f
}

// write carries a Store out. Stores of one file may be carried out in any order;
// the file is whole up to the first that is missing.
func (d *disk) write(f *file, op *storeOp) {
	at := op.store.At
	for k, b := range op.store.Data {
		if sum(b, nil) != op.sums[k] {
			d.w.fail(lawBroken, "law 1: bytes of a Store at %d of %v changed after their Outbox", at, f.id)
		}
		for int64(len(f.data)) < at+int64(len(b)) {
			f.data = append(f.data, make([]byte, at+int64(len(b))-int64(len(f.data)))...)
		}
		copy(f.data[at:], b)
		at += int64(len(b))
	}
	op.done = true
	for moved := true; moved; {
		moved = false
		kept := f.pending[:0]
		for _, p := range f.pending {
			if p.done && p.store.At == f.end {
				f.end += storeSize(&p.store)
				moved = true
			} else {
				kept = append(kept, p)
			}
		}
		clear(f.pending[len(kept):])
		f.pending = kept
	}
	if f.end == f.seal && len(f.pending) == 0 {
		f.sealed = true
	}
	d.tellStored(f)
	d.syncFile(f)
}

func (d *disk) syncFile(f *file) {
	if f.syncing || f.synced == f.end && !f.hurry || len(f.pending) > 0 && f.synced == f.end {
		return
	}
	if !f.hurry {
		if !f.aging {
			f.aging = true
			d.after(drawStoreSync, Span{d.plan.Age / 2, d.plan.Age}, func() {
				f.aging, f.hurry = false, true
				d.syncFile(f)
			})
		}
		return
	}
	f.syncing = true
	if len(f.pending) == 0 {
		f.hurry = false
	}
	upto := f.end
	d.after(drawStoreSync, d.plan.StoreSync, func() {
		f.syncing = false
		f.synced = max(f.synced, upto)
		d.tellStored(f)
		d.syncFile(f)
	})
}

func (d *disk) tellStored(f *file) {
	d.tell(func() {
		if f.told.Written == f.end && f.told.Synced == f.synced || f.trim != nil {
			return
		}
		f.told.Written, f.told.Synced = f.end, f.synced
		d.w.step(f.told)
	})
}

func (d *disk) read(reads []env.Read) {
	for _, r := range reads {
		if d.reads[r.Read] != nil {
			d.w.fail(lawBroken, "read id %d used twice", r.Read)
		}
		f := d.files[r.Segment]
		if f == nil {
			d.w.fail(lawBroken, "law 6: a Read of %s, which is not there", segmentName(r.Segment))
		}
		op := &readOp{read: r}
		d.reads[r.Read] = op
		f.reads++
		d.after(drawRead, d.plan.Read, func() {
			from := min(r.At, int64(len(f.data)))
			to := min(r.At+int64(r.MaxBytes), int64(len(f.data)))
			op.data = append([]byte(nil), f.data[from:to]...)
			damaged := f.refused
			if damaged {
				op.data = nil
			}
			d.tell(func() {
				f.reads--
				delete(d.reads, r.Read)
				d.w.step(env.Loaded{Read: r.Read, Data: op.data, Damaged: damaged})
			})
		})
	}
}

// cutAndDrop does what is never confirmed, some time.
func (d *disk) cutAndDrop(out *env.Outbox) {
	for _, c := range out.Cuts {
		d.journal.cut = max(d.journal.cut, c)
		d.after(drawCut, d.plan.StoreSync, func() { d.cutTo(c) })
	}
	for _, id := range out.Drops {
		f := d.files[id]
		d.checkDrop(f, id)
		d.after(drawCut, d.plan.Store, func() { d.unlink(f) })
	}
}

// cutTo drops whole files of the journal: a drawn part of what may go.
func (d *disk) cutTo(c env.Seq) {
	j := &d.journal
	c = min(c, j.synced)
	if c <= j.first {
		return
	}
	n := int64(c - j.first)
	if d.w.dice.chance(drawCut, 1, d.ops, 500) {
		n = d.w.dice.below(drawCut, 2, d.ops, n+1)
	}
	d.dropEntries(int(n))
}

func (d *disk) dropEntries(n int) {
	j := &d.journal
	j.entries = append([]env.Entry(nil), j.entries[n:]...)
	j.sums = append([]uint32(nil), j.sums[n:]...)
	j.made = append([]env.Time(nil), j.made[n:]...)
	j.first += env.Seq(n)
}

func (d *disk) unlink(f *file) {
	delete(d.files, f.id)
	for i, id := range d.names {
		if id == f.id {
			d.names = append(d.names[:i], d.names[i+1:]...)
			break
		}
	}
	d.dropped = append(d.dropped, f)
	d.after(drawStoreSync, d.plan.StoreSync, func() {
		for i := range d.dropped {
			if d.dropped[i] == f {
				d.dropped = append(d.dropped[:i], d.dropped[i+1:]...)
				return
			}
		}
	})
}

func (d *disk) trim(trims []env.Trim) {
	for _, t := range trims {
		f := d.files[t.Segment]
		if f == nil {
			if t.End != 0 {
				d.w.fail(lawBroken, "law 6: a Trim of %s, which is not there, to %d", segmentName(t.Segment), t.End)
			}
			f = d.create(t.Segment)
		}
		if t.End > int64(len(f.data)) {
			d.w.fail(lawBroken, "law 6: a Trim of %s, %d bytes long, to %d", segmentName(t.Segment), len(f.data), t.End)
		}
		f.trim = &t
		d.after(drawStoreSync, d.plan.StoreSync, func() {
			f.data = f.data[:t.End:t.End]
			f.end, f.synced, f.touched, f.trim = t.End, t.End, t.End, nil
			f.told.Written, f.told.Synced = -1, -1 // it is owed, whatever it says
			d.tellStored(f)
		})
	}
}

// sum is a checksum over both parts of an entry.
func sum(a, b []byte) uint32 { return record.CRC(a) ^ record.CRC(b)*31 ^ uint32(len(a))<<16 }

func segmentName(id env.SegmentID) string {
	return fmt.Sprintf("%x-%d/%d.%d", id.Topic[:4], id.Partition, id.Base, id.Gen)
}
