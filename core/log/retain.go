package log

import (
	"fmt"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/journal"
)

// Retain applies retention by time and by size: whole segments go from the front,
// as in Kafka. The records behind the last sealed segment, in a file or in memory,
// count as the active segment: they go together, when the youngest has expired.
func (l *Log) Retain(j *journal.Journal, out *env.Outbox, now env.Now, hw int64) {
	if l.removed != 0 || l.recovering {
		return
	}
	if start := max(l.expiredTo(now.WallMillis(), hw), l.oversizedTo(hw)); start > l.start {
		l.journalStart(j, out, start, false)
		l.drop(out, j.Synced())
	}
}

// mayRetainTo: retention never passes the high watermark, for what is behind it
// may not be the log's yet.
func mayRetainTo(offset, hw int64) bool { return offset <= hw }

// expiredTo is the new start by retention.ms: segments go while their largest timestamp is older.
func (l *Log) expiredTo(wallMs, hw int64) int64 {
	start := l.start
	if l.s.RetentionTime < 0 {
		return start
	}
	limit := int64(l.s.RetentionTime / env.Millisecond)
	i := 0
	for ; i < len(l.segments) && l.segments[i].state == sealed; i++ {
		s := &l.segments[i]
		if !mayRetainTo(s.end, hw) || s.size > 0 && wallMs-s.youngest() <= limit {
			return start
		}
		start = max(start, s.end)
	}
	if youngest, any := l.activeYoungest(i); any && mayRetainTo(l.end, hw) && wallMs-youngest > limit {
		start = max(start, l.end)
	}
	return start
}

// youngest is the largest timestamp or, when no record has one, when the last batch was appended.
func (s *segment) youngest() int64 {
	if s.maxTime >= 0 {
		return s.maxTime
	}
	return s.wall
}

// activeYoungest is the same of what lies behind the first n segments; not any: nothing does.
func (l *Log) activeYoungest(n int) (youngest int64, any bool) {
	maxTime, wall := int64(-1), int64(-1)
	for i := n; i < len(l.segments); i++ {
		maxTime, wall, any = max(maxTime, l.segments[i].maxTime), max(wall, l.segments[i].wall), any || l.segments[i].size > 0
	}
	for i := l.tail.next; i < len(l.tail.list); i++ {
		maxTime, wall, any = max(maxTime, l.tail.list[i].maxTime), max(wall, l.tail.list[i].wall), true
	}
	if maxTime < 0 {
		return wall, any
	}
	return maxTime, any
}

// oversizedTo is the new start by retention.bytes: sealed segments go while what
// is left is still at least that large. Kafka counts what lies behind the high
// watermark too; here that does not push older records out, for a loss of power
// may take it, and then less than retention.bytes would be left.
func (l *Log) oversizedTo(hw int64) int64 {
	start := l.start
	if l.s.RetentionBytes < 0 {
		return start
	}
	size := l.sizeBelow(hw)
	excess := size - l.s.RetentionBytes
	i := 0
	for ; i < len(l.segments) && l.segments[i].state == sealed; i++ {
		s := &l.segments[i]
		if excess < s.size || !mayRetainTo(s.end, hw) {
			return start
		}
		size, excess = size-s.size, excess-s.size
		start = max(start, s.end)
	}
	if size > 0 && excess >= size && mayRetainTo(l.end, hw) { // retention.bytes=0
		start = l.end
	}
	return start
}

// sizeBelow is about the bytes of the records before offset, and never more: of
// a segment that goes beyond it, only whole runs count.
func (l *Log) sizeBelow(offset int64) int64 {
	size := int64(0)
	for i := range l.segments {
		s := &l.segments[i]
		if s.end <= offset {
			size += s.size
		} else if s.from < offset && len(s.index) > 0 {
			size += s.index[findRun(s.index, offset)].at
		}
	}
	for i := l.tail.next; i < len(l.tail.list) && l.tail.list[i].end <= offset; i++ {
		size += int64(len(l.tail.list[i].bytes))
	}
	return size
}

// Size is the bytes of the records that the log holds, in segments or not stored yet.
func (l *Log) Size() int64 {
	size := l.tail.unstored
	for i := range l.segments {
		size += l.segments[i].size
	}
	return size
}

// SetStart moves the start to offset (DeleteRecords) and returns the Seq that
// makes it last; 0: it is there already.
func (l *Log) SetStart(j *journal.Journal, out *env.Outbox, offset int64) env.Seq {
	if offset > l.end {
		panic(fmt.Sprintf("log: start %d behind the end %d", offset, l.end))
	}
	if offset <= l.start {
		return l.startSeq
	}
	seq := l.journalStart(j, out, offset, true)
	l.drop(out, j.Synced())
	return seq
}

func (l *Log) journalStart(j *journal.Journal, out *env.Outbox, start int64, sync bool) env.Seq {
	seq := l.journal(j, out, env.Entry{Sync: sync, Header: j.Keep(journal.Start{Start: start}.AppendTo(j.Header()))})
	l.moveStart(start, seq)
	return seq
}

// moveStart forgets what lies before start; seq is the entry that says so.
func (l *Log) moveStart(start int64, seq env.Seq) {
	if start <= l.start {
		return
	}
	l.start, l.startSeq = start, seq
	l.epochs.startAt(start)
	l.tail.freeBefore(start)
	l.damage.startAt(start)
	for len(l.segments) > 0 && l.givesUpFirst() {
		l.giveUp(0, seq)
	}
}

// givesUpFirst: all records of the first segment are before the start, and it
// takes no more: it is sealed, or it has records and no later segment waits for
// it to be filled up, as after a crash that cut it short.
func (l *Log) givesUpFirst() bool {
	s := &l.segments[0]
	if s.end > l.start || s.state == sealed {
		return s.end <= l.start
	}
	if s.size == 0 || l.recovering {
		return false
	}
	b := l.tail.firstUnstored()
	return len(l.segments) == 1 || b == nil || b.base >= l.segments[1].from
}

func (l *Log) giveUp(i int, seq env.Seq) {
	s := l.segments[i]
	s.givenUp, s.index = seq, nil
	l.segments = append(l.segments[:i], l.segments[i+1:]...)
	l.dying = append(l.dying, s)
}

// mayDrop: a file may go only when the entry that gives it up can not be lost any
// more and nobody writes or reads it; else a crash would bring the log back
// without the file.
func mayDrop(s *segment, synced env.Seq) bool { return synced >= s.givenUp && s.quiet() }

func (l *Log) drop(out *env.Outbox, synced env.Seq) {
	kept := l.dying[:0]
	for i := range l.dying {
		if s := &l.dying[i]; !mayDrop(s, synced) {
			kept = append(kept, *s)
		} else if s.state != opening && s.found >= 0 { // else there is no file
			out.Drops = append(out.Drops, s.id)
		}
	}
	clear(l.dying[len(kept):])
	l.dying = kept
	l.gone = l.removed != 0 && synced >= l.removed && len(l.dying) == 0
}

// Remove gives the log up: its topic was deleted. The files go when the entry is
// Synced; then Gone is true once Pump has seen it.
func (l *Log) Remove(j *journal.Journal, out *env.Outbox) env.Seq {
	if l.removed != 0 {
		return l.removed
	}
	seq := l.journal(j, out, env.Entry{Checkpoint: true, Header: j.Keep(journal.AppendKind(j.Header(), journal.KindDrop))})
	l.remove(seq)
	l.drop(out, j.Synced())
	return seq
}

func (l *Log) remove(seq env.Seq) {
	l.removed, l.want = seq, false
	for len(l.segments) > 0 {
		l.giveUp(0, seq)
	}
	// What the log needs of the journal stays needed until then: a crash may
	// lose the entry and bring the log back.
	l.tail, l.epochs, l.producers, l.recent, l.damage = tail{}, epochs{}, nil, nil, damage{}
}

// Removed tells whether Remove was called.
func (l *Log) Removed() bool { return l.removed != 0 }

// Gone tells whether nothing is left to do for a removed log.
func (l *Log) Gone() bool { return l.gone }

// Owns tells whether the segment is one that this log has or is still dropping.
func (l *Log) Owns(id env.SegmentID) bool { return l.segmentByID(id) != nil }
