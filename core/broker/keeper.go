package broker

import (
	"math"

	"github.com/orrery-log/orrery/core/env"
)

// keeper moves records from memory to segments, checkpoints logs, cuts the
// journal behind them and applies retention. It decides which log is next; how a
// log does it stands in core/log.
//
//	appended    a tail of StoreBytes is stored at once
//	keep        above half of the tails budget the largest tails are stored;
//	            above half of the journal budget the logs that hold the cut back
//	            are stored, or carried when their tail is small; then the cut
//	            follows. By time: old tails are stored, segments rolled, expired
//	            segments dropped.
type keeper struct {
	round    env.Time // Mono of the next look at every log
	swept    env.Time // Mono of the next retention check
	looked   int64    // journal.Behind at the last look for the cut
	cutting  bool     // stores, carries or checkpoints are under way that will let the cut move
	pressing bool     // stores are under way because of the tails budget
}

// rounds divides StoreAge: so many looks at every log while a tail grows old.
const rounds = 2

func (k *keeper) wakeAt() env.Time {
	return min(k.round, k.swept)
}

// begin starts the keeper's clocks when the broker begins to serve.
func (b *Broker) beginKeeping() {
	b.keeper.round = b.now.Mono + b.lim.StoreAge/rounds
	b.keeper.swept = b.now.Mono + b.retentionEvery()
}

// reclaiming tells whether journal space will come back without new appends.
func (k *keeper) reclaiming(b *Broker) bool { return k.cutting }

// appended looks at one log that has just grown.
func (b *Broker) appended(slot int32, out *env.Outbox) {
	if b.parts[slot].rep.Log.Unstored() >= b.lim.StoreBytes {
		b.store(slot, out)
	}
}

// keep does what is due.
func (b *Broker) keep(out *env.Outbox) {
	if b.phase != serving {
		return
	}
	k := &b.keeper
	if b.now.Mono >= k.round {
		k.round = b.now.Mono + max(b.lim.StoreAge/rounds, env.Millisecond)
		b.storeOld(out)
	}
	if b.now.Mono >= k.swept {
		k.swept = b.now.Mono + b.retentionEvery()
		b.retain(out)
	}
	b.relieveTails(out)
	b.relieveJournal(out)
}

// store gives a log's tail to its segment, and keeps the books.
func (b *Broker) store(slot int32, out *env.Outbox) {
	first := len(out.Journal)
	b.parts[slot].rep.Log.Store(&b.journal, out, b.now)
	b.noteEntries(slot, out, first)
}

// pump goes on with what a log wanted and the journal's progress allows.
func (b *Broker) pump(slot int32, out *env.Outbox) {
	if b.phase < registering {
		return
	}
	l := b.parts[slot].rep.Log
	first, before := len(out.Journal), l.TailBytes()
	l.Pump(&b.journal, out, b.now)
	b.tails += l.TailBytes() - before
	b.noteEntries(slot, out, first)
	b.reap(slot)
}

func (b *Broker) onStored(e env.Stored, out *env.Outbox) {
	slot, ok := b.find(e.Segment.Log())
	if !ok {
		if slot, ok = b.dying[e.Segment.Log()]; !ok {
			return // a log that is gone
		}
	}
	l := b.parts[slot].rep.Log
	first, before := len(out.Journal), l.TailBytes()
	l.Stored(&b.journal, out, b.now, e)
	if b.phase == serving && l.WantsCheckpoint() {
		l.Checkpoint(&b.journal, out)
	}
	b.tails += l.TailBytes() - before
	b.noteEntries(slot, out, first)
	b.keeper.pressing = false
	b.keeper.looked = -1
	b.reap(slot)
	b.trimmed(e, out)
}

// storeOld stores the tails that have waited for StoreAge and have a segment to
// go to; a log without one is carried, or stored when it grows.
func (b *Broker) storeOld(out *env.Outbox) {
	for slot := range b.parts {
		p := &b.parts[slot]
		if p.live && p.rep.Log.HasOpenSegment() && p.rep.Log.OldestUnstored() <= b.now.Mono-b.lim.StoreAge {
			b.store(int32(slot), out)
		}
	}
}

// retain applies retention, and rolls segments that are old.
func (b *Broker) retain(out *env.Outbox) {
	for slot := range b.parts {
		p := &b.parts[slot]
		if !p.live {
			continue
		}
		l := p.rep.Log
		first, before := len(out.Journal), l.TailBytes()
		l.Retain(&b.journal, out, b.now, p.rep.HW())
		b.tails += l.TailBytes() - before
		b.noteEntries(int32(slot), out, first)
	}
}

// relieveTails stores the largest tails, then the oldest, while more than half of
// the budget is used and nothing that would help is under way.
func (b *Broker) relieveTails(out *env.Outbox) {
	if b.tails*2 <= b.lim.Tails || b.keeper.pressing {
		return
	}
	over := b.tails - b.lim.Tails/4
	for over > 0 {
		best, bytes := -1, int64(0)
		for slot := range b.parts {
			p := &b.parts[slot]
			if p.live && p.rep.Log.Unstored() > bytes {
				best, bytes = slot, p.rep.Log.Unstored()
			}
		}
		if best < 0 {
			break
		}
		over -= bytes
		b.store(int32(best), out)
		if b.parts[best].rep.Log.Unstored() == bytes {
			break // it waits for its segment to open; the others will be looked at then
		}
	}
	b.keeper.pressing = true
}

// relieveJournal brings the cut forward while the journal is more than half full.
func (b *Broker) relieveJournal(out *env.Outbox) {
	k := &b.keeper
	behind := b.journal.Behind()
	if behind*2 <= b.lim.Journal {
		k.cutting, k.looked = false, -1
		return
	}
	if k.looked >= 0 && behind < k.looked+b.lim.Journal/16 {
		return
	}
	need := b.need()
	b.journal.CutTo(out, min(need, b.journal.Synced()+1))
	goal := b.goal()
	for slot := range b.parts {
		p := &b.parts[slot]
		if p.rep.Log == nil || p.rep.Log.NeedSeq() == 0 || p.rep.Log.NeedSeq() >= goal {
			continue
		}
		k.cutting = true
		b.forward(int32(slot), out)
	}
	k.looked = b.journal.Behind()
}

// need is the least Seq that some log needs.
func (b *Broker) need() env.Seq {
	need := env.Seq(math.MaxUint64)
	for slot := range b.parts {
		if p := &b.parts[slot]; p.rep.Log != nil {
			if n := p.rep.Log.NeedSeq(); n != 0 {
				need = min(need, n)
			}
		}
	}
	return need
}

// goal is where the cut should come to: what lies before it is older than a
// quarter of the budget.
func (b *Broker) goal() env.Seq {
	return b.journal.Before(b.lim.Journal / 4)
}

// forward makes a log need less of the journal.
func (b *Broker) forward(slot int32, out *env.Outbox) {
	l := b.parts[slot].rep.Log
	first, before := len(out.Journal), l.TailBytes()
	switch {
	case l.Unstored() == 0:
		l.Checkpoint(&b.journal, out)
	case l.Unstored() <= b.lim.CarryMax && !l.HasOpenSegment() && b.journal.Behind() < b.lim.Journal*3/4:
		l.Carry(&b.journal, out)
	default:
		l.Store(&b.journal, out, b.now)
	}
	b.tails += l.TailBytes() - before
	b.noteEntries(slot, out, first)
}

// reap frees the slot of a log whose files are gone.
func (b *Broker) reap(slot int32) {
	p := &b.parts[slot]
	if p.live || p.rep.Log == nil || !p.rep.Log.Gone() {
		return
	}
	delete(b.dying, p.id)
	b.parts[slot] = partition{}
	b.holes = append(b.holes, slot)
}
