package sim

import (
	"fmt"

	"github.com/orrery-log/orrery/core/env"
)

// Oracles explains what a run can find broken.
const Oracles = `What can be broken, as BROKEN names it:
  O1       something acknowledged is lost, moved or changed
  O2       an answer contradicts an earlier one, or shows what is not committed
  O4       an idempotent record is stored twice, out of order, or refused for ever
  O6       a restarted copy differs from the live broker
  O7       a log is not well-formed, or the broker's own invariants do not hold
  O8       something has no answer, or can not be read, after faults have stopped
  O9       the history of what clients saw is not linearizable
  law      a law of core/env, as a driver sees it; law 7: the broker is not plain data
  panic    the broker gave up
  unknown  the history does not tell; never a pass
`

// Legend explains the lines of a trace.
const Legend = `Each line of a trace: seconds, step, then what happened.
  > event        handed to the broker before its Step
    request C#N KEY vV      request N of connection C
    journaled W/S           the journal is written to W and synced to S
    stored SEG W/S          a segment file is written to byte W and synced to S
    loaded R BYTES          an answer to read R ("!" when damaged)
    survived …              a piece of recovery
  < effect       what the Outbox asks for
    journal SEQ LOG BYTES   "s" somebody waits for the medium, "c" a checkpoint
    store SEG @AT BYTES     "seal" ends the file, "s" somebody waits
    read R SEG @AT MAX, trim SEG END, drop SEG, cut SEQ, job J KIND
    reply C#N KEY           "silent" or "close" when no answer is sent
    note …
  * what the world does: fault, crash, a new life
SEG is topic-partition/base.generation, the topic as the first 4 bytes of its id.`

func (w *world) traceLine(format string, args ...any) {
	fmt.Fprintf(w.trace, "%s %d * %s\n", stamp(w.now), w.steps, fmt.Sprintf(format, args...))
}

// tracePlan prints what the seed drew.
func (w *world) tracePlan() {
	p := w.plan
	w.traceLine("plan of seed %d, profile %s: %s s, then at most %s s without faults", p.Seed, p.Profile, stamp(p.Length), stamp(p.Heal))
	w.traceLine("limits %+v", p.Limits)
	w.traceLine("settings %+v", p.Properties)
	w.traceLine("disk %+v", p.Disk)
	w.traceLine("network %+v", p.Net)
	for i := range p.Topics {
		w.traceLine("topic %+v", p.Topics[i])
	}
	for i := range p.Producers {
		w.traceLine("producer %d %+v", i+1, p.Producers[i])
	}
	for i := range p.Consumers {
		w.traceLine("consumer %d %+v", i+1, p.Consumers[i])
	}
	for _, f := range p.Faults {
		w.traceLine("planned %v", f)
	}
}

func (w *world) line(mark, format string, args ...any) {
	fmt.Fprintf(w.trace, "%s %d %s %s\n", stamp(w.now), w.steps, mark, fmt.Sprintf(format, args...))
}

func (w *world) traceEvent(ev env.Event) {
	switch e := ev.(type) {
	case env.Survived:
		w.line(">", "survived %d segments, %d checkpoints, %d entries, %d damages, last %v", len(e.Segments), len(e.Checkpoints), len(e.Entries), len(e.Damage), e.Last)
	case env.Tick:
		w.line(">", "tick")
	case env.Opened:
		w.line(">", "opened %d by %s", e.Conn, e.Peer)
	case env.Request:
		w.line(">", "request %d#%d %T v%d%s", e.Conn, e.N, e.Body, e.Body.GetVersion(), traceRequest(e.Body))
	case env.Sent:
		w.line(">", "sent %d#%d", e.Conn, e.N)
	case env.Hangup:
		w.line(">", "hangup %d", e.Conn)
	case env.Journaled:
		w.line(">", "journaled %d/%d", e.Written, e.Synced)
	case env.Stored:
		w.line(">", "stored %s %d/%d", segmentName(e.Segment), e.Written, e.Synced)
	case env.Loaded:
		w.line(">", "loaded %d %d%s", e.Read, len(e.Data), flag(e.Damaged, "!"))
	case env.Done:
		w.line(">", "done %d %d", e.Job, len(e.Data))
	case env.Space:
		w.line(">", "space %d", e.Free)
	}
}

func (w *world) traceOutbox(out *env.Outbox) {
	for i := range out.Journal {
		e := &out.Journal[i]
		w.line("<", "journal %d %x-%d %d+%d%s%s", e.Seq, e.Log.Topic[:4], e.Log.Partition, len(e.Header), len(e.Payload), flag(e.Sync, " s"), flag(e.Checkpoint, " c"))
	}
	for i := range out.Stores {
		s := &out.Stores[i]
		w.line("<", "store %s @%d %d%s%s", segmentName(s.Segment), s.At, storeSize(s), flag(s.Seal, " seal"), flag(s.Sync, " s"))
	}
	for _, r := range out.Reads {
		w.line("<", "read %d %s @%d %d", r.Read, segmentName(r.Segment), r.At, r.MaxBytes)
	}
	for _, t := range out.Trims {
		w.line("<", "trim %s %d", segmentName(t.Segment), t.End)
	}
	for _, d := range out.Drops {
		w.line("<", "drop %s", segmentName(d))
	}
	for _, c := range out.Cuts {
		w.line("<", "cut %d", c)
	}
	for i := range out.Jobs {
		w.line("<", "job %d %d", out.Jobs[i].Job, out.Jobs[i].Kind)
	}
	for i := range out.Replies {
		r := &out.Replies[i]
		what := fmt.Sprintf("%T", r.Body)
		if r.Kind != env.Body {
			what = [...]string{"", "silent", "close"}[r.Kind]
		}
		w.line("<", "reply %d#%d %s%s", r.Conn, r.N, what, w.traceReply(r))
	}
	for i := range out.Notes {
		n := &out.Notes[i]
		w.line("<", "note %d %s %s %d", n.Kind, n.Name, n.Text, n.Value)
	}
}

func flag(on bool, text string) string {
	if on {
		return text
	}
	return ""
}
