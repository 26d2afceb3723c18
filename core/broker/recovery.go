package broker

import (
	"fmt"
	"slices"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/log"
	"github.com/orrery-log/orrery/core/replica"
)

// The start of a life, in Steps:
//
//	replaying    logs from their checkpoints, the journal's entries over them
//	loading      the metadata log, read from its start, makes the image
//	registering  one record begins the life: when it is Synced every partition
//	             has a new leader epoch
//	serving      clients are answered; what no record names is dropped
//
// A crash in any of these is a crash like any other: until the registration is
// journaled nothing was changed that a second start does not find again.

// recovery is what a start has to remember.
type recovery struct {
	files   []env.SegmentInfo               // segment files found
	byLog   map[env.LogID][]env.SegmentInfo // the same; never ranged over
	damages []env.Damage                    // handed over so far
	damaged bool                            // this start handed over damage: nothing unknown is dropped
	// outlived: lives have led a log of which the image does not know; so much of
	// the metadata was lost, and accepted. An epoch must not be given twice.
	outlived bool
	held     bool  // the next piece waits until stores have freed memory
	next     int64 // loading: the next offset of the metadata log
}

// recovering makes a partition of a log that is being recovered. It leads, and
// gets its topic, when the metadata says so.
func (b *Broker) recovering(l *log.Log) int32 {
	slot := b.add(partition{id: l.ID(), rep: replica.New(l)})
	return slot
}

func (b *Broker) onSurvived(e env.Survived, out *env.Outbox) {
	if b.phase != replaying {
		panic("broker: recovery goes on after its last piece")
	}
	for _, f := range e.Segments {
		b.starts.files = append(b.starts.files, f)
		b.starts.byLog[f.ID.Log()] = append(b.starts.byLog[f.ID.Log()], f)
	}
	for i := range e.Checkpoints {
		b.restore(&e.Checkpoints[i], out)
	}
	for i := range e.Damage {
		b.damage(e.Damage[i])
	}
	for i := range e.Entries {
		b.replay(&e.Entries[i], out)
	}
	if e.Last {
		b.replayed(out)
		return
	}
	b.starts.held = true
	b.more(out)
}

// restore begins a log from its last checkpoint.
func (b *Broker) restore(e *env.Entry, out *env.Outbox) {
	l, ok := log.Restore(e.Log, e.Header, e.Seq, b.lim)
	if !ok {
		panic(fmt.Sprintf("broker: checkpoint %d of %v has a sound checksum and makes no sense", e.Seq, e.Log))
	}
	b.recovering(l)
	for _, f := range b.starts.byLog[e.Log] {
		l.Found(f)
	}
	l.Trim(out)
}

// replay applies one surviving entry to its log.
func (b *Broker) replay(e *env.Entry, out *env.Outbox) {
	b.journal.Survived(e)
	slot, ok := b.find(e.Log)
	if !ok {
		slot = b.recovering(log.Begin(e.Log, b.lim))
		for _, d := range b.starts.damages { // none of them names it
			b.parts[slot].rep.Log.Damaged(d, false)
		}
	}
	l := b.parts[slot].rep.Log
	before := l.TailBytes()
	l.Replay(out, *e)
	if l.Unstored() >= b.lim.StoreBytes && l.HasOpenSegment() {
		l.Store(&b.journal, out, b.now)
	}
	b.tailsMoved(l.TailBytes() - before)
	b.starts.damaged = b.starts.damaged || e.Damaged
}

// more asks for the next piece, once what was replayed leaves room or nothing
// that would free any is under way.
func (b *Broker) more(out *env.Outbox) {
	if !b.starts.held {
		return
	}
	if b.tails > b.lim.Tails {
		for slot := range b.parts {
			if l := b.parts[slot].rep.Log; l.TailBytes() > l.Unstored() {
				return
			}
		}
	}
	b.starts.held = false
	out.More = true
}

// damage tells the logs that may have lost entries.
func (b *Broker) damage(d env.Damage) {
	b.starts.damaged = true
	b.starts.damages = append(b.starts.damages, d)
	for _, id := range d.Logs {
		if _, ok := b.find(id); !ok {
			b.recovering(log.Begin(id, b.lim)) // all that it had may be lost
		}
	}
	for slot := range b.parts {
		l := b.parts[slot].rep.Log
		l.Damaged(d, slices.Contains(d.Logs, l.ID()))
	}
}

// lostEntriesMax bounds the entries that a file's name may show to be lost: no
// journal holds more, and a name can say anything.
const lostEntriesMax = 1 << 24

// replayed ends the replay and begins to read the metadata log.
func (b *Broker) replayed(out *env.Outbox) {
	for slot := range b.parts {
		l := b.parts[slot].rep.Log
		before := l.TailBytes()
		l.Recovered(b.now)
		b.tailsMoved(l.TailBytes() - before)
	}
	for _, d := range b.starts.damages {
		if d.Upto != 0 {
			b.journal.Skip(d.Upto - 1) // lost entries had these, and the disk has seen them: no Seq is given twice
		}
	}
	for _, f := range b.starts.files {
		if gen := env.Seq(f.ID.Gen); gen < b.journal.Next()+lostEntriesMax {
			b.journal.Skip(gen) // and so had the entry that opened a file, though it may be lost
		}
	}
	b.starts.files = slices.DeleteFunc(b.starts.files, b.namedFile) // while a log that gives a file up still names it
	if b.metadataLost(out) {
		return
	}
	slot, ok := b.find(metadataLog())
	if !ok {
		slot = b.recovering(log.New(metadataLog(), metaSettings(), b.lim))
	}
	b.meta.slot = slot
	b.parts[slot].rep.Log.Apply(metaSettings())
	b.phase = loading
	b.starts.next = b.parts[slot].rep.Log.Start()
	b.loadMeta(out)
}

// metadataLost ends this life when metadata may be lost: an image without them
// would take topics for deleted and drop their records, and give a leader epoch
// twice. An operator who accepts the loss accepts that.
func (b *Broker) metadataLost(out *env.Outbox) bool {
	slot, ok := b.find(metadataLog())
	lost := b.starts.damaged || len(b.starts.files) > 0 // and nothing of the metadata, in which everything begins
	if ok {
		lost = !b.parts[slot].rep.Log.Sound()
	}
	if !lost || b.acceptsLoss(metadataLog()) {
		return false
	}
	out.Notes = append(out.Notes, env.Note{Kind: env.Stop, Name: "metadata.damaged", Log: metadataLog(),
		Text: "the metadata log is damaged, and records of it may be lost: restore the data directory from a copy, " +
			"or go on without the topics that it does not know: orrery disk accept-loss DIR __cluster_metadata 0"})
	return true
}

// loadMeta applies the metadata log piece by piece.
func (b *Broker) loadMeta(out *env.Outbox) {
	l := b.parts[b.meta.slot].rep.Log
	for b.starts.next < l.End() {
		plan := l.Read(&b.index, b.starts.next, l.End(), int32(b.lim.ReplayBytes), true)
		if !b.loadPlan(plan, out) {
			return
		}
	}
	b.loaded(out)
}

// loadPlan takes the next step of reading the metadata log; false: it waits for the disk.
func (b *Broker) loadPlan(plan log.Plan, out *env.Outbox) bool {
	switch plan.State {
	case log.Ready:
		b.starts.next = b.applyMeta(plan.Data)
		return true
	case log.Load:
		b.startRead(read{slot: b.meta.slot, plan: plan}, out)
		return false
	case log.Damaged:
		// Half an image would lose topics, so nothing is served on it.
		out.Notes = append(out.Notes, env.Note{Kind: env.Stop, Name: "metadata.damaged", Log: metadataLog(), Value: b.starts.next,
			Text: fmt.Sprintf("the metadata log is damaged at offset %d: restore the data directory from a copy", b.starts.next)})
		return false
	default:
		panic(fmt.Sprintf("broker: the metadata log is %v at offset %d", plan.State, b.starts.next))
	}
}

// metaLoaded goes on with the metadata log when its bytes have come.
func (b *Broker) metaLoaded(r *read, data []byte, damaged bool, out *env.Outbox) {
	l := b.parts[b.meta.slot].rep.Log
	plan := l.Loaded(&b.index, r.plan, data, damaged, b.starts.next, l.End(), int32(b.lim.ReplayBytes), true)
	if b.loadPlan(plan, out) {
		b.loadMeta(out)
	}
}

// loaded makes the partitions that the image names and registers this life.
func (b *Broker) loaded(out *env.Outbox) {
	for slot := range b.parts {
		b.parts[slot].live = false // until the image names it
	}
	b.parts[b.meta.slot].live = true
	b.phase = registering
	b.assumeAll()
	rep := &b.parts[b.meta.slot].rep
	rep.Lead(rep.Log.LastEpoch() + 1)
	b.meta.applied = rep.HW()
	b.admin.queue = append(b.admin.queue, adminOp{kind: opRegister})
}

// registered begins to serve: the registration is Synced and applied.
func (b *Broker) registered(out *env.Outbox) {
	if b.starts.outlived {
		b.starts.outlived = false
		b.admin.queue = append(b.admin.queue, adminOp{kind: opRegister}) // once for each life that was lost
		return
	}
	b.phase = serving
	for slot := range b.parts {
		if p := &b.parts[slot]; !p.live && p.rep.Log != nil {
			b.removeLog(int32(slot), out) // its topic's removal was committed
		}
	}
	b.acceptLosses(out)
	b.dropUnknown(out)
	b.beginKeeping()
	out.Notes = append(out.Notes, env.Note{Kind: env.Ready, Name: "ready", Value: int64(len(b.parts))})
}

// acceptsLoss tells whether an operator has accepted a log's damage for this life.
func (b *Broker) acceptsLoss(id env.LogID) bool { return slices.Contains(b.cfg.AcceptLoss, id) }

// acceptLosses ends the damages that an operator has accepted, and names the others.
func (b *Broker) acceptLosses(out *env.Outbox) {
	for slot := range b.parts {
		p := &b.parts[slot]
		if !p.live {
			continue
		}
		if b.acceptsLoss(p.id) {
			first := len(out.Journal)
			p.rep.Log.Accept(&b.journal, out) // sound as it may seem: what a file has lost shows when it is read
			b.noteEntries(int32(slot), out, first)
			continue
		}
		if p.rep.Log.Sound() {
			continue
		}
		out.Notes = append(out.Notes, env.Note{Kind: env.Warn, Name: "log.damaged", Log: p.id,
			Text: fmt.Sprintf("%s-%d is damaged: what is sound is served; orrery disk accept-loss ends it", p.topic, p.id.Partition)})
	}
}

// namedFile tells whether a log has this file or is about to drop it.
func (b *Broker) namedFile(f env.SegmentInfo) bool {
	slot, ok := b.find(f.ID.Log())
	if !ok {
		slot, ok = b.dying[f.ID.Log()]
	}
	return ok && b.parts[slot].rep.Log.Owns(f.ID)
}

// dropUnknown drops the files that no surviving entry names, unless this start
// handed over damage: then one of them may be all that is left of something.
func (b *Broker) dropUnknown(out *env.Outbox) {
	for _, f := range b.starts.files {
		if b.starts.damaged {
			out.Notes = append(out.Notes, env.Note{Kind: env.Warn, Name: "segment.unknown", Log: f.ID.Log(), Value: f.ID.Base,
				Text: "a segment that no entry names is kept, because this start found damage"})
			continue
		}
		out.Drops = append(out.Drops, f.ID)
	}
	b.starts = recovery{}
}

// removeLog ends a log whose topic is gone: its requests find out, its files go.
func (b *Broker) removeLog(slot int32, out *env.Outbox) {
	p := &b.parts[slot]
	for _, t := range p.rep.Drain(nil) {
		b.touch(t)
	}
	p.live = false
	b.dropStalled(p)
	if b.slots[p.id] == slot {
		delete(b.slots, p.id)
	}
	b.dying[p.id] = slot
	first, before := len(out.Journal), p.rep.Log.TailBytes()
	p.rep.Log.Remove(&b.journal, out)
	b.tailsMoved(p.rep.Log.TailBytes() - before)
	b.noteEntries(slot, out, first)
	b.keeper.lookAgain()
	b.reap(slot)
}
