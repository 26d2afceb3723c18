package replica

import (
	"fmt"
	"math"
	"slices"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/journal"
	"github.com/orrery-log/orrery/core/log"
	"github.com/orrery-log/orrery/core/record"
	"github.com/orrery-log/orrery/core/wait"
)

// Ticket names a parked request: slot and generation.
type Ticket uint64

// Replica is one partition's copy.
type Replica struct {
	Log *log.Log
	// epoch is the leader epoch of this life; valid while leading.
	epoch   int32
	leading bool
	// hw is the high watermark. start <= hw <= durable end, and it never falls.
	hw int64
	// written and committed hold who waits for an end to be Written here
	// (acks=1) or committed (acks=all).
	written   wait.Queue[int64, Ticket]
	committed wait.Queue[int64, Ticket]
	// polls hold the fetches that wait for records; some have ended otherwise.
	polls []Poll
	ended int // so many of polls, at most
}

// Poll is a fetch that waits for records, and for which of its parts.
type Poll struct {
	Ticket Ticket
	Part   int32
}

// New is the copy that owns l; it does not lead yet.
func New(l *log.Log) Replica { return Replica{Log: l, epoch: -1, hw: l.Start()} }

// Lead makes it the leader of an epoch. Every record before it is durable here
// and the only in-sync copy is this one, so all of it is committed.
func (r *Replica) Lead(epoch int32) {
	if epoch < r.Log.LastEpoch() || r.leading && epoch < r.epoch {
		panic(fmt.Sprintf("replica: leads epoch %d after %d", epoch, r.Log.LastEpoch()))
	}
	r.epoch, r.leading = epoch, true
	r.raise(commitEnd(r.Log.Durable()))
}

// Leading tells whether clients are served here.
func (r *Replica) Leading() bool { return r.leading }

// Epoch is the leader epoch.
func (r *Replica) Epoch() int32 { return r.epoch }

// HW is the high watermark: the first offset that is not committed.
func (r *Replica) HW() int64 { return r.hw }

// Append appends a verified batch as the leader and returns its base offset and end.
func (r *Replica) Append(j *journal.Journal, out *env.Outbox, now env.Now, b record.Batch, info env.BatchInfo) (base, end int64) {
	if !r.leading {
		panic("replica: append to a copy that does not lead")
	}
	base, _ = r.Log.Append(j, out, now, b, info, r.epoch)
	return base, r.Log.End()
}

// WaitWritten wakes t when everything before end is Written here.
func (r *Replica) WaitWritten(end int64, t Ticket) { r.written.Insert(end, t) }

// WaitCommitted wakes t when everything before end is committed.
func (r *Replica) WaitCommitted(end int64, t Ticket) { r.committed.Insert(end, t) }

// Poll has the fetch among those that the next rise of the watermark wakes.
func (r *Replica) Poll(p Poll) { r.polls = append(r.polls, p) }

// Unpoll counts a poll that has ended otherwise. They are taken out when they are
// most, so that it costs no walk over the others.
func (r *Replica) Unpoll(live func(Ticket) bool) {
	if r.ended++; r.ended > 32 && r.ended*2 > len(r.polls) {
		r.polls = slices.DeleteFunc(r.polls, func(p Poll) bool { return !live(p.Ticket) })
		r.ended = 0
	}
}

// Journaled takes the journal's progress and appends to wake the tickets whose
// number has come, and to polls those that the watermark's rise wakes.
func (r *Replica) Journaled(written, synced env.Seq, wake []Ticket, polls []Poll) ([]Ticket, []Poll) {
	r.Log.Journaled(written, synced)
	wake = pop(&r.written, r.Log.Written(), wake)
	if end := commitEnd(r.Log.Durable()); r.leading && end > r.hw {
		r.raise(end)
		polls = append(polls, r.polls...)
		r.polls, r.ended = r.polls[:0], 0
	}
	return pop(&r.committed, r.hw, wake), polls
}

// pop appends who waits for an end up to this one.
func pop(q *wait.Queue[int64, Ticket], end int64, wake []Ticket) []Ticket {
	for {
		t, ok := q.Pop(end)
		if !ok {
			return wake
		}
		wake = append(wake, t)
	}
}

func (r *Replica) raise(end int64) {
	if end > r.Log.Durable() {
		panic(fmt.Sprintf("replica: watermark %d above the durable end %d", end, r.Log.Durable()))
	}
	r.hw = max(r.hw, end)
}

// Drain hands out everyone who waits, because the partition goes away.
func (r *Replica) Drain(wake []Ticket) []Ticket {
	wake = pop(&r.written, math.MaxInt64, wake)
	wake = pop(&r.committed, math.MaxInt64, wake)
	for _, p := range r.polls {
		wake = append(wake, p.Ticket)
	}
	r.polls, r.ended, r.leading = nil, 0, false
	return wake
}

// CheckInvariants panics when something that must hold does not.
func (r *Replica) CheckInvariants() {
	if r.hw > r.Log.Durable() && r.hw > r.Log.Start() {
		panic(fmt.Sprintf("replica: watermark %d above the durable end %d", r.hw, r.Log.Durable()))
	}
	r.Log.CheckInvariants()
}
