package broker

import (
	"fmt"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/journal"
	"github.com/orrery-log/orrery/core/log"
	"github.com/orrery-log/orrery/core/metadata"
	"github.com/orrery-log/orrery/core/replica"
	"github.com/orrery-log/orrery/core/wait"
)

// phase is how far the start has come.
type phase uint8

const (
	replaying   phase = iota // Survived pieces arrive
	loading                  // the metadata log is read and applied
	registering              // this life's registration is on its way to the medium
	serving                  // clients are answered
)

// Broker is one shard of a node: plain data with one verb, Step.
type Broker struct {
	cfg     env.Config
	lim     env.Limits
	now     env.Now
	phase   phase
	journal journal.Journal
	image   *metadata.Image
	meta    metaLog

	parts   []partition         // slot 0 is the metadata log
	slots   map[env.LogID]int32 // where a live log is in parts; never ranged over
	holes   []int32             // free slots of parts
	sent    []mark              // which partition each journal entry belongs to, by Seq, from the unsynced ones on
	written int                 // so many of sent are Written
	settled int                 // so many of sent are Synced; settled <= written
	index   log.IndexCache

	conns    map[env.ConnID]*conn // never ranged over
	pending  slab
	touched  []replica.Ticket
	timers   wait.Timers[replica.Ticket] // deadlines of pending requests
	sessions sessions
	admin    adminQueue
	lobby    lobby            // produces that wait for room
	crowd    []adminOp        // other requests of connections that have to take answers first
	fed      bool             // some of crowd may go on
	starved  []replica.Ticket // what could be read now, and waits for room: fetches for their reply, searches for their reads

	reads   map[env.ReadID]*read // never ranged over
	jobs    map[env.JobID]*job   // never ranged over
	lastID  uint64               // the last ReadID and JobID given out
	reading int64                // bytes asked by reads and not loaded
	unsent  int64                // bytes replied and not sent
	stalled int64                // bytes of batches that wait for a job, or behind one
	tails   int64                // bytes of records in memory that their segment does not have
	space   int64                // free bytes of the disk; negative: not known yet
	keeper  keeper
	starts  recovery
	ids     ids
	synced  wait.Queue[env.Seq, replica.Ticket] // who waits for the medium
	dying   map[env.LogID]int32                 // removed logs whose files are not gone yet; never ranged over
	woken   []replica.Ticket                    // memory for onJournaled
	polls   []replica.Poll                      // memory for onJournaled
	told    env.Time                            // Mono from which the gauges are told again
	moved   []int32                             // slots with new journal entries confirmed in this Step
}

// mark tells which partition an entry of the journal belongs to.
type mark struct {
	seq  env.Seq
	slot int32
}

// partition is one partition's place in this shard.
type partition struct {
	id       env.LogID
	topic    string
	live     bool // it is in slots; a partition whose log is removed is not, until its files are gone
	rep      replica.Replica
	set      settings
	replicas int32           // copies that the metadata assigns
	hurt     bool            // it was said that it is damaged
	queue    []stalledAppend // appends that wait for a job, and those behind them
	moved    bool            // it stands in b.moved
}

// New makes the broker of one life. The first event must be a Survived.
func New(cfg env.Config, now env.Now) *Broker {
	b := &Broker{
		cfg: cfg, lim: cfg.Limits, now: now,
		image: metadata.NewImage(), journal: journal.New(1),
		slots:  map[env.LogID]int32{},
		dying:  map[env.LogID]int32{},
		index:  log.NewIndexCache(cfg.Limits.IndexCache),
		conns:  map[env.ConnID]*conn{},
		reads:  map[env.ReadID]*read{},
		jobs:   map[env.JobID]*job{},
		starts: recovery{byLog: map[env.LogID][]env.SegmentInfo{}},
		space:  -1,
	}
	b.sessions.init(int(cfg.Limits.Sessions), int(cfg.Limits.SessionParts))
	return b
}

// Step takes one event and adds what it causes to out. It never blocks.
func (b *Broker) Step(now env.Now, ev env.Event, out *env.Outbox) {
	if now.Mono < b.now.Mono {
		panic(fmt.Sprintf("broker: Mono fell from %d to %d", b.now.Mono, now.Mono))
	}
	b.now = now
	switch e := ev.(type) {
	case env.Survived:
		b.onSurvived(e, out)
	case env.Tick:
	case env.Opened:
		b.onOpened(e)
	case env.Request:
		b.onRequest(e, out)
	case env.Sent:
		b.onSent(e)
	case env.Hangup:
		b.onHangup(e, out)
	case env.Answer:
		panic("broker: an answer without a call")
	case env.Journaled:
		b.onJournaled(e, out)
	case env.Stored:
		b.onStored(e, out)
	case env.Loaded:
		b.onLoaded(e, out)
	case env.Done:
		b.onDone(e, out)
	case env.Space:
		b.onSpace(e, out)
	default:
		panic(fmt.Sprintf("broker: unknown event %T", ev))
	}
	b.wake()
	b.finish(out)
}

// finish brings what an event has set in motion to rest. Settling a request may
// free room for others, and a committed decision lets the next one be made.
func (b *Broker) finish(out *env.Outbox) {
	for {
		b.settle(out)
		b.keep(out)
		if !b.advanceAdmin(out) && !b.admitCrowd(out) && !b.admitWaiting(out) && len(b.touched) == 0 {
			return
		}
	}
}

// wake touches the requests whose deadline has passed.
func (b *Broker) wake() {
	for {
		t, ok := b.timers.Pop(b.now.Mono)
		if !ok {
			return
		}
		b.touch(t)
	}
}

// WakeAt is the Mono time by which the next Tick is due.
func (b *Broker) WakeAt() env.Time {
	at := b.timers.Next()
	if b.phase == serving {
		at = min(at, b.keeper.wakeAt(), b.lobby.wakeAt())
	}
	return at
}

// onJournaled spreads the journal's progress over the partitions that have
// entries in it.
func (b *Broker) onJournaled(e env.Journaled, out *env.Outbox) {
	b.journal.Confirm(e)
	written, synced := b.journal.Written(), b.journal.Synced()
	for ; b.settled < len(b.sent) && b.sent[b.settled].seq <= synced; b.settled++ {
		b.mark(b.sent[b.settled].slot)
	}
	for b.written = max(b.written, b.settled); b.written < len(b.sent) && b.sent[b.written].seq <= written; b.written++ {
		b.mark(b.sent[b.written].slot)
	}
	if b.settled*2 >= len(b.sent) { // each entry moves at most once
		n := copy(b.sent, b.sent[b.settled:])
		b.sent, b.written, b.settled = b.sent[:n], b.written-b.settled, 0
	}
	for _, slot := range b.moved {
		p := &b.parts[slot]
		p.moved = false
		if p.rep.Log == nil {
			continue
		}
		b.woken, b.polls = p.rep.Journaled(written, synced, b.woken[:0], b.polls[:0])
		for _, t := range b.woken {
			b.touch(t)
		}
		for _, poll := range b.polls {
			if q := b.pending.get(poll.Ticket); q != nil {
				q.fetch.parts[poll.Part].polls = false
				b.touch(poll.Ticket)
			}
		}
		b.pump(slot, out)
	}
	b.moved = b.moved[:0]
	for {
		t, ok := b.synced.Pop(synced)
		if !ok {
			break
		}
		b.touch(t)
	}
	b.metaCommitted(out)
}

// mark notes that a partition's entries have come further.
func (b *Broker) mark(slot int32) {
	if p := &b.parts[slot]; p.rep.Log != nil && !p.moved {
		p.moved = true
		b.moved = append(b.moved, slot)
	}
}

// append appends a batch to a partition that leads and keeps the books.
func (b *Broker) append(slot int32, batch batchIn, out *env.Outbox) (base, end int64) {
	p := &b.parts[slot]
	before, first := p.rep.Log.TailBytes(), len(out.Journal)
	base, end = p.rep.Append(&b.journal, out, b.now, batch.data, batch.info)
	b.tailsMoved(p.rep.Log.TailBytes() - before)
	b.noteEntries(slot, out, first)
	b.appended(slot, int64(len(batch.data)), out)
	return base, end
}

// noteEntries remembers whose the entries from first on are.
func (b *Broker) noteEntries(slot int32, out *env.Outbox, first int) {
	for i := first; i < len(out.Journal); i++ {
		b.sent = append(b.sent, mark{out.Journal[i].Seq, slot})
	}
}

// find is the slot of a log that is here.
func (b *Broker) find(id env.LogID) (int32, bool) {
	slot, ok := b.slots[id]
	return slot, ok
}

// add gives a log its slot.
func (b *Broker) add(p partition) int32 {
	p.live = true
	var slot int32
	if n := len(b.holes); n > 0 {
		slot, b.holes = b.holes[n-1], b.holes[:n-1]
		b.parts[slot] = p
	} else {
		slot = int32(len(b.parts))
		b.parts = append(b.parts, p)
	}
	b.slots[p.id] = slot
	return slot
}
