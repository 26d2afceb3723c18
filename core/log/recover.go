package log

import (
	"fmt"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/journal"
	"github.com/orrery-log/orrery/core/record"
)

// A log's recovery, in order:
//
//	Begin, or Restore from its last checkpoint    it is recovering: nothing is journaled
//	Found for each of its segment files
//	Trim                                          unsealed segments back to what the checkpoint counts
//	Replay each entry, Damaged each damage        in Seq order; Stored, Store and Pump between
//	Recovered                                     an ordinary log, all of it Synced
//
// Replay is idempotent: an entry before the checkpoint can only bring back
// records that no segment has; one behind it changes state exactly as it did in
// the life that journaled it.

// Begin is a log that the journal speaks of and that has no checkpoint.
func Begin(id env.LogID, lim env.Limits) *Log {
	l := New(id, Settings{SegmentBytes: 1 << 30, RetentionBytes: -1, RetentionTime: -1}, lim)
	l.recovering = true
	return l
}

// Restore is a log as its last checkpoint tells, which may say that it was
// removed. Not ok: the header is no checkpoint that we know.
func Restore(id env.LogID, header []byte, seq env.Seq, lim env.Limits) (*Log, bool) {
	l := Begin(id, lim)
	l.check.seq = seq
	if kind, r, ok := journal.Parse(header); ok && kind == journal.KindDrop && r.Done() {
		l.remove(seq)
		l.gone = true
		return l, true
	}
	if !l.readCheckpoint(header) {
		return nil, false
	}
	for i := range l.segments {
		s := &l.segments[i]
		s.found = -1
		// What the checkpoint counts is on the medium, so it can be read while the
		// Trim of what lies behind it is still on its way.
		if s.state == trimming {
			s.written, s.synced = s.size, s.size
		}
	}
	return l, true
}

// Found learns of a segment file. False: the log does not know it.
func (l *Log) Found(info env.SegmentInfo) bool {
	s := l.segmentByID(info.ID)
	if s == nil {
		return false
	}
	s.found = info.Size
	return true
}

// Trim cuts the unsealed segments to what the checkpoint counts, and notes what
// files do not have that it counts.
func (l *Log) Trim(out *env.Outbox) {
	for i := range l.segments {
		s := &l.segments[i]
		if s.found < s.size+s.footer && s.size > 0 {
			l.fileLost(s)
		}
		if s.state == trimming {
			out.Trims = append(out.Trims, env.Trim{Segment: s.id, End: s.size})
		}
	}
}

// fileLost marks what is missing of a file that is shorter than its Synced bytes.
// What is left is closed as it is; an index is no longer there.
func (l *Log) fileLost(s *segment) {
	if s.state == trimming {
		s.synced = max(s.found, 0)
		size, end := s.counted()
		l.damage.add(end, s.end)
		s.size, s.end, s.index = size, end, nil
		if size == 0 {
			s.written, s.synced = 0, 0
			return // nothing is left: it is trimmed and takes records again
		}
	} else if s.found < s.size {
		s.size = max(s.found, 0) // which batches are whole, reading will tell
		if s.size == 0 {
			l.damage.add(s.from, s.end)
			s.end = s.from
		}
	}
	s.state, s.footer = sealed, 0
	s.written, s.synced = s.size, s.size
}

// trimmed: the file ends where it should and takes Stores again.
func (l *Log) trimmed(out *env.Outbox, s *segment, ev env.Stored) {
	if ev.Written != s.size || ev.Synced != s.size {
		panic(fmt.Sprintf("log: segment %v trimmed to %d/%d, not %d", s.id, ev.Written, ev.Synced, s.size))
	}
	s.written, s.synced, s.state, s.found = s.size, s.size, open, s.size
	for i := len(l.segments) - 2; i >= 0; i-- {
		if next := &l.segments[i+1]; l.segments[i].state == open && (next.size > 0 || next.state == sealed) {
			l.seal(out, &l.segments[i]) // it was, and only its footer had not come to the medium
		}
	}
}

// Settled tells whether every Trim is confirmed.
func (l *Log) Settled() bool {
	for i := range l.segments {
		if l.segments[i].state == trimming {
			return false
		}
	}
	return true
}

// Replay takes an entry that survived.
func (l *Log) Replay(out *env.Outbox, e env.Entry) {
	if !l.recovering {
		panic(fmt.Sprintf("log: entry %d of %v replayed in a log that is not recovering", e.Seq, l.id))
	}
	l.check.note(e.Seq)
	l.lastSeen = max(l.lastSeen, e.Seq)
	if l.removed != 0 {
		return // entries before the removal
	}
	kind, r, ok := journal.Parse(e.Header)
	if ok {
		ok = l.replay(out, &e, kind, r)
	}
	if !ok {
		l.damage.unsure = true // it says something that we do not understand
	}
}

func (l *Log) replay(out *env.Outbox, e *env.Entry, kind journal.Kind, r journal.Reader) bool {
	if kind == journal.KindRecords {
		h, ok := journal.ParseRecords(r)
		if ok {
			l.replayRecords(e, &h)
		}
		return ok
	}
	if e.Seq <= l.check.seq {
		return true // the checkpoint says it
	}
	switch kind {
	case journal.KindOpen:
		h, ok := journal.ParseOpen(r)
		if ok {
			s := newSegment(l.id, h.Base, e.Seq, trimming)
			l.insert(s)
			out.Trims = append(out.Trims, env.Trim{Segment: s.id, End: 0})
		}
		return ok
	case journal.KindStart:
		h, ok := journal.ParseStart(r)
		if ok {
			l.reach(h.Start)
			l.moveStart(h.Start, e.Seq)
		}
		return ok
	case journal.KindCheckpoint:
		return true // older than the one we began with, or our own
	case journal.KindDrop:
		l.remove(e.Seq)
		return r.Done()
	case journal.KindAccept:
		l.damage.accept()
		return r.Done()
	default:
		return false
	}
}

// reach notes that the log was known to end at offset or later, though the
// entries that say so are lost.
func (l *Log) reach(offset int64) {
	if offset > l.end {
		l.lost(l.end, offset)
		l.end = offset
	}
}

// lost notes that the entries of the records in a range are missing: with them
// went what they said of producers.
func (l *Log) lost(from, to int64) {
	l.damage.add(from, to)
	l.damage.unsure = true
}

// replayRecords takes a batch into state when it is new to it, and into memory
// when no segment has it.
func (l *Log) replayRecords(e *env.Entry, h *journal.Records) {
	fresh := h.Base >= l.end
	if fresh {
		l.reach(h.Base)
		if h.Epoch < l.epochs.last() {
			l.damage.unsure = true
			return
		}
		l.learn(h)
	}
	b, sound := replayedBatch(e, h)
	if h.Base < l.refilled {
		if sound {
			l.bringBack(h, b)
		}
		return
	}
	if !fresh && h.Last >= l.end {
		l.damage.unsure = true // it runs over the end that the checkpoint knows
		return
	}
	l.damage.add(max(l.refilled, l.start), h.Base)
	l.refilled = h.Last + 1
	l.marks.push(e.Seq, l.refilled)
	if l.refilled <= l.start {
		return
	}
	if !sound {
		b = nil
		l.damage.add(max(h.Base, l.start), l.refilled)
	}
	l.tail.push(tailOf(b, h))
}

// bringBack puts a batch in place that was missing so far: a damaged entry has a
// sound copy, or a carried one comes behind records that it precedes. What a
// checkpoint counted as stored stays where it is, or lost.
func (l *Log) bringBack(h *journal.Records, b record.Batch) {
	from, end := max(h.Base, l.start), h.Last+1
	if end <= l.start || h.Base < l.check.stored {
		return
	}
	if l.tail.fill(h.Base, end, b) || l.damage.holds(from, end) && l.tail.insert(tailOf(b, h)) {
		l.damage.repair(from, end)
	}
}

// tailOf is a replayed batch in memory; without bytes it is a hole.
func tailOf(b record.Batch, h *journal.Records) tailBatch {
	return tailBatch{bytes: b, base: h.Base, end: h.Last + 1, epoch: h.Epoch, maxTime: h.MaxTime, maxTimeAt: h.MaxTimeAt, wall: h.Wall, at: -1}
}

// replayedBatch is the payload, when it is the batch that the header describes.
func replayedBatch(e *env.Entry, h *journal.Records) (record.Batch, bool) {
	if e.Damaged {
		return nil, false
	}
	b, rest, ok := record.Next(e.Payload)
	return b, ok && len(rest) == 0 && b.BaseOffset() == h.Base && b.LastOffset() == h.Last && b.LeaderEpoch() == h.Epoch
}

// Damaged learns that entries are lost of which some may be this log's. Listed:
// the damage names it; one that names only others has cost it nothing.
func (l *Log) Damaged(d env.Damage, listed bool) {
	switch {
	case d.Upto != 0 && l.check.seq >= d.Upto:
		// The checkpoint says all but records; a gap in those is seen by itself.
	case listed:
		l.damage.unsure = true
	case len(d.Logs) == 0: // any log may have lost something
		l.lostBefore = max(l.lostBefore, d.After+1)
	}
}

// Recovered ends the recovery: all that was handed over is Synced.
func (l *Log) Recovered(now env.Now) {
	if !l.recovering {
		panic(fmt.Sprintf("log: %v recovered twice", l.id))
	}
	if l.lostBefore != 0 && max(l.lastSeen, l.check.seq) < l.lostBefore {
		l.damage.unsure = true // no later entry shows that nothing is missing
	}
	if l.refilled < l.end {
		l.damage.add(max(l.refilled, l.start), l.end)
		l.refilled = l.end
	}
	l.recovering = false
	for len(l.segments) > 0 && l.givesUpFirst() {
		l.giveUp(0, 0)
	}
	l.written, l.synced = l.end, l.end
	l.marks.settleAll()
	l.marks.countedTo(l.check.stored)
	for i := l.tail.head; i < len(l.tail.list); i++ {
		l.tail.list[i].mono = now.Mono
	}
}
