package broker

import (
	"cmp"
	"math"
	"slices"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/wait"
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
	pressing bool     // stores are under way because of the tails budget
	freed    int64    // bytes that have left the tails since then
	enough   int64    // pressing ends when so many have: half of what was under way
	grown    int64    // bytes that were appended, not carried, since the last round for the journal began
	goal     env.Seq  // a round is under way: every log shall need nothing before it; 0: none is
	spent    int64    // bytes that this round has journaled
	cutting  bool     // something is under way that will let the cut move
	storing  int      // logs that had a Store under way at the last look of this round
	stored   int      // confirmed Stores since; when it is half of them, look again
	waits    env.Seq  // look again in this round when this is Synced; 0: nothing is on its way
}

// lookEvery is the time between two looks at every tail: two while one grows old.
func (b *Broker) lookEvery() env.Time { return max(b.lim.StoreAge/2, env.Millisecond) }

func (k *keeper) wakeAt() env.Time {
	return min(k.round, k.swept)
}

// begin starts the keeper's clocks when the broker begins to serve.
func (b *Broker) beginKeeping() {
	b.keeper.round = b.now.Mono + b.lookEvery()
	b.keeper.swept = b.now.Mono + b.retentionEvery()
}

// appended looks at one log that has just grown.
func (b *Broker) appended(slot int32, grown int64, out *env.Outbox) {
	l := b.parts[slot].rep.Log
	b.keeper.grown += grown
	if l.Unstored() >= b.lim.StoreBytes {
		b.store(slot, out)
	} else if b.keeper.round == wait.Never && l.HasOpenSegment() {
		b.keeper.round = b.now.Mono + b.lookEvery()
	}
}

// keep does what is due.
func (b *Broker) keep(out *env.Outbox) {
	if b.phase != serving {
		return
	}
	b.gauges(out)
	k := &b.keeper
	if b.now.Mono >= k.round {
		k.round = wait.Never
		if b.storeOld(out) {
			k.round = b.now.Mono + b.lookEvery()
		}
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
	b.tailsMoved(l.TailBytes() - before)
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
	b.tailsMoved(l.TailBytes() - before)
	b.noteEntries(slot, out, first)
	b.keeper.stored++
	b.reap(slot)
	b.more(out)
}

// storeOld stores the tails that have waited for StoreAge and have a segment to
// go to; a log without one is carried, or stored when it grows. It tells whether
// one is left that grows old.
func (b *Broker) storeOld(out *env.Outbox) bool {
	left := false
	for slot := range b.parts {
		p := &b.parts[slot]
		if !p.live || !p.rep.Log.HasOpenSegment() {
			continue
		}
		if p.rep.Log.OldestUnstored() <= b.now.Mono-b.lim.StoreAge {
			b.store(int32(slot), out)
		}
		left = left || p.rep.Log.Unstored() > 0
	}
	return left
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
		l.ExpireProducers(b.now.WallMillis())
		l.Retain(&b.journal, out, b.now, p.rep.HW())
		b.tailsMoved(l.TailBytes() - before)
		b.noteEntries(int32(slot), out, first)
	}
	b.keeper.lookAgain()
}

// tailsMoved counts bytes that have come to the tails, or left them.
func (b *Broker) tailsMoved(bytes int64) {
	b.tails += bytes
	if k := &b.keeper; bytes < 0 {
		k.freed -= bytes
		k.pressing = k.pressing && k.freed < k.enough
	}
}

// lookAgain has the round under way look at every log again: some have changed in
// a way that no Stored tells of.
func (k *keeper) lookAgain() { k.stored = math.MaxInt32 }

// relieveTails stores the largest tails while more than half of the budget is
// used, or more than lets the first produce at the door in. It looks again when
// half of what is under way by then has left memory: a look at every log for each
// confirmed Store would be the square of their number.
func (b *Broker) relieveTails(out *env.Outbox) {
	wanted := b.tailsWanted()
	if b.tails <= min(b.lim.Tails/2, wanted) || b.keeper.pressing {
		return
	}
	type tail struct {
		slot  int32
		bytes int64
	}
	var largest []tail
	unstored := int64(0)
	for slot := range b.parts {
		if p := &b.parts[slot]; p.live && p.rep.Log.Unstored() > 0 {
			largest = append(largest, tail{int32(slot), p.rep.Log.Unstored()})
			unstored += p.rep.Log.Unstored()
		}
	}
	slices.SortStableFunc(largest, func(x, y tail) int { return cmp.Compare(y.bytes, x.bytes) })
	over, underway := b.tails-min(b.lim.Tails/4, wanted), b.tails-unstored
	for i := 0; i < len(largest) && over > 0; i++ {
		over -= largest[i].bytes
		underway += largest[i].bytes
		b.store(largest[i].slot, out)
	}
	b.keeper.pressing, b.keeper.freed, b.keeper.enough = true, 0, underway/2
}

// relieveJournal brings the cut forward, in rounds, while the journal is more
// than half full. A round has a fixed goal, which each log passes in a few steps,
// and the next one begins only when a sixteenth of the budget was appended since:
// what is carried and checkpointed does not count, or a journal of which half is
// needed would be written round and round for ever.
func (b *Broker) relieveJournal(out *env.Outbox) {
	k := &b.keeper
	if b.journal.Behind()*2 <= b.lim.Journal {
		k.goal, k.cutting, k.grown = 0, false, b.lim.Journal
		return
	}
	switch {
	case k.goal == 0 && k.grown < b.lim.Journal/16:
		return
	case k.goal == 0:
		k.goal, k.grown, k.spent = b.journal.Recent(b.lim.Journal/4), 0, 0
	case (k.stored == 0 || k.stored < k.storing/2) && (k.waits == 0 || b.journal.Synced() < k.waits):
		return
	}
	k.stored = 0
	b.journal.CutTo(out, min(b.need(), b.journal.Synced()+1))
	if k.cutting = b.releaseLogs(out); !k.cutting {
		k.goal = 0
	}
}

// releaseLogs takes every log that needs what lies before the goal one step further,
// and tells whether anything is on its way. In a journal that is rather full small
// tails are carried only as long as little comes together in a round: a thousand
// idle logs with a record each are cheaper to carry than to give a file each,
// however full it is.
func (b *Broker) releaseLogs(out *env.Outbox) bool {
	k := &b.keeper
	roomy := b.journal.Behind() < b.lim.Journal*3/4
	left := false
	k.storing = 0
	for slot := range b.parts {
		l := b.parts[slot].rep.Log
		if l == nil || l.NeedSeq() == 0 || l.NeedSeq() >= k.goal {
			continue
		}
		left = true
		first, before := len(out.Journal), l.TailBytes()
		l.Release(&b.journal, out, b.now, roomy || k.spent < b.lim.Journal/8)
		for i := first; i < len(out.Journal); i++ {
			out.Journal[i].Sync = true // the cut, and perhaps a producer, waits for it
			k.spent += out.Journal[i].Size()
		}
		b.tailsMoved(l.TailBytes() - before)
		b.noteEntries(int32(slot), out, first)
		if l.Storing() {
			k.storing++
		}
	}
	k.waits = 0
	if last := b.journal.Next() - 1; b.journal.Synced() < last {
		k.waits = last
	}
	return left && (k.storing > 0 || k.waits != 0)
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
