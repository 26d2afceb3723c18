package log

import (
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/journal"
)

// Store puts the whole unstored tail into Stores. When no segment is open, one is
// opened first and the wish is remembered: Pump goes on once its entry is Synced.
func (l *Log) Store(j *journal.Journal, out *env.Outbox, now env.Now) {
	l.want = true
	l.Pump(j, out, now)
}

// Pump does what became possible since: it is called after Journaled and Stored,
// and costs next to nothing when there is nothing to do.
func (l *Log) Pump(j *journal.Journal, out *env.Outbox, now env.Now) {
	for i := len(l.segments) - 1; i >= 0 && l.segments[i].state != sealed; i-- {
		if s := &l.segments[i]; s.state == opening && j.Synced() >= env.Seq(s.id.Gen) {
			s.state = open
		}
	}
	if l.want {
		l.storeTail(j, out)
	}
	if !l.recovering {
		if l.unsaid {
			l.Checkpoint(j, out)
		}
		l.drop(out, j.Synced())
	}
}

// storeTail places batches in segments until none is left or a segment must open first.
func (l *Log) storeTail(j *journal.Journal, out *env.Outbox) {
	piece := len(out.Stores) // Stores before it are not ours to extend
	for {
		b := l.tail.firstUnstored()
		if b == nil {
			l.want, l.hurry = false, false
			return
		}
		if l.recovering && l.missingBefore(b) {
			return // a later entry may have the records again
		}
		if b.bytes == nil { // a hole is in no segment
			l.tail.stored(-1)
			continue
		}
		s := l.target(j, out, b)
		if s == nil {
			return
		}
		at := s.take(b, l.indexEvery)
		if n := len(out.Stores); n == piece || !extends(&out.Stores[n-1], s.id, at) {
			out.Stores = append(out.Stores, env.Store{Segment: s.id, At: at, Sync: l.hurry})
			piece = n
		}
		last := &out.Stores[len(out.Stores)-1]
		last.Data = append(last.Data, b.bytes)
		l.tail.stored(at)
	}
}

// missingBefore: in recovery, records right before the first unstored batch, or
// its own, have not come yet. Carried ones come behind those that they precede.
func (l *Log) missingBefore(b *tailBatch) bool {
	end := max(l.check.stored, l.start)
	if t := &l.tail; t.next > t.head {
		end = max(end, t.list[t.next-1].end)
	}
	for i := len(l.segments) - 1; i >= 0; i-- {
		if s := &l.segments[i]; s.size > 0 {
			end = max(end, s.end)
			break
		}
	}
	return b.bytes == nil || b.base > end
}

// extends: a batch at byte at of the segment lies right behind the Store and fits in its piece.
func extends(st *env.Store, id env.SegmentID, at int64) bool {
	return !st.Seal && st.Segment == id && at-st.At < storePieceMax
}

// target is the open segment that the batch goes into; nil: it must wait. Segments
// before it are sealed on the way.
func (l *Log) target(j *journal.Journal, out *env.Outbox, b *tailBatch) *segment {
	i := len(l.segments)
	for i > 0 && l.segments[i-1].state != sealed {
		i--
	}
	for {
		if i == len(l.segments) && !l.openSegment(j, out, b.base) {
			return nil
		}
		s := &l.segments[i]
		if b.base < s.id.Base { // found again behind the loss of a file
			if !l.openSegment(j, out, b.base) {
				return nil
			}
			s = &l.segments[i]
		}
		if s.state == opening || s.state == trimming {
			return nil
		}
		switch {
		case i+1 < len(l.segments) && b.base >= l.segments[i+1].from:
			l.seal(out, s)
			i++
		case l.mustRoll(s, b):
			if !l.openSegment(j, out, b.base) {
				return nil
			}
		default:
			return s
		}
	}
}

// mustRoll: batches lie back to back in offset and byte, a segment has a size,
// and its records an age. A crash's replay follows the rolls that were journaled.
func (l *Log) mustRoll(s *segment, b *tailBatch) bool {
	if s.size == 0 {
		return false
	}
	if s.end != b.base {
		return true
	}
	return !l.recovering && (s.size+int64(len(b.bytes)) > l.s.SegmentBytes || l.aged(s, b))
}

// aged: Kafka rolls when a batch is younger than the segment's first by more than segment.ms.
func (l *Log) aged(s *segment, b *tailBatch) bool {
	return l.s.SegmentAge > 0 && s.firstTime >= 0 && b.maxTime-s.firstTime > int64(l.s.SegmentAge/env.Millisecond)
}

// openSegment journals the opening of a segment for records from base on. Its
// file may be written to when the entry is Synced, so it is not ready yet.
// False: in recovery nothing is journaled.
func (l *Log) openSegment(j *journal.Journal, out *env.Outbox, base int64) bool {
	if l.recovering {
		return false
	}
	seq := l.journal(j, out, env.Entry{Sync: true, Header: j.Keep(journal.Open{Base: base}.AppendTo(j.Header()))})
	l.insert(newSegment(l.id, base, seq, opening))
	return true
}

// insert puts a segment that holds nothing yet where its records will be: behind
// every segment that has records or begins at or before it.
func (l *Log) insert(s segment) {
	i := len(l.segments)
	for i > 0 && l.segments[i-1].size == 0 && l.segments[i-1].from > s.from {
		i--
	}
	if i > 0 {
		s.from = max(s.from, l.segments[i-1].end)
		s.end = s.from
	}
	l.segments = slices.Insert(l.segments, i, s)
}

func newSegment(id env.LogID, base int64, seq env.Seq, state segmentState) segment {
	return segment{
		id:   env.SegmentID{Topic: id.Topic, Partition: id.Partition, Kind: env.Data, Base: base, Gen: uint64(seq)},
		from: base, end: base, state: state, firstTime: -1, maxTime: -1, wall: -1,
	}
}

// journal gives an entry of this log to the journal.
func (l *Log) journal(j *journal.Journal, out *env.Outbox, e env.Entry) env.Seq {
	if l.recovering {
		panic(fmt.Sprintf("log: %v journals before recovery is over", l.id))
	}
	e.Log = l.id
	seq := j.Append(out, e)
	l.check.note(seq)
	return seq
}

// take places a batch at the segment's end and returns its byte there.
func (s *segment) take(b *tailBatch, every int64) int64 {
	if s.state != open || s.size > 0 && s.end != b.base {
		panic(fmt.Sprintf("log: batch at %d into segment %v in state %d with end %d", b.base, s.id, s.state, s.end))
	}
	at := s.size
	if at == 0 {
		s.from, s.firstTime = b.base, b.maxTime
	}
	if n := len(s.index); n == 0 || at-s.index[n-1].at >= every || at == s.runEnd {
		s.index = append(s.index, run{base: b.base, at: at, maxTime: -1, maxTimeAt: b.base})
	}
	r := &s.index[len(s.index)-1]
	r.sum = crc32.Update(r.sum, crc32.MakeTable(crc32.Castagnoli), b.bytes)
	if b.maxTime > r.maxTime {
		r.maxTime, r.maxTimeAt = b.maxTime, b.maxTimeAt
	}
	if b.maxTime > s.maxTime {
		s.maxTime, s.maxTimeAt = b.maxTime, b.maxTimeAt
	}
	s.wall = max(s.wall, b.wall)
	s.size += int64(len(b.bytes))
	s.end = b.end
	return at
}

// seal ends a segment with its footer.
func (l *Log) seal(out *env.Outbox, s *segment) {
	data := appendFooter(nil, &footer{from: s.from, end: s.end, size: s.size, runs: s.index, epochs: l.epochs.within(s.from, s.end)})
	s.footer, s.state = int64(len(data)), sealed
	out.Stores = append(out.Stores, env.Store{Segment: s.id, At: s.size, Data: [][]byte{data}, Seal: true})
}

// Stored learns how far a segment file is: memory goes when the file can be read
// instead, and a checkpoint may count what is on the medium.
func (l *Log) Stored(j *journal.Journal, out *env.Outbox, now env.Now, ev env.Stored) {
	s := l.segmentByID(ev.Segment)
	if s == nil {
		return // dropped since
	}
	if s.state == trimming {
		l.trimmed(out, s, ev)
	}
	if ev.Synced > ev.Written || ev.Written > s.size+s.footer || ev.Written < s.written || ev.Synced < s.synced {
		panic(fmt.Sprintf("log: segment %v of %d+%d bytes was at %d/%d, now %d/%d",
			s.id, s.size, s.footer, s.written, s.synced, ev.Written, ev.Synced))
	}
	l.check.storedBytes += ev.Synced - s.synced
	s.written, s.synced = ev.Written, ev.Synced
	if s.whole() {
		s.index = nil // from now on it is read from the footer
	}
	l.freeWritten()
	l.Pump(j, out, now)
}

// freeWritten forgets the batches whose segments have Written them.
func (l *Log) freeWritten() {
	for !l.tail.empty() && l.tail.head < l.tail.next {
		b := &l.tail.list[l.tail.head]
		if b.bytes == nil {
			l.tail.freeBefore(b.end)
			continue
		}
		s := &l.segments[l.segmentOf(b.base)]
		upto := int64(-1)
		for i := l.tail.head; i < l.tail.next; i++ {
			if b := &l.tail.list[i]; !readable(s, b) {
				break
			} else {
				upto = b.end
			}
		}
		if upto < 0 {
			return
		}
		l.tail.freeBefore(upto)
	}
}

// readable: memory may go only when a Read of the segment sees the whole batch.
func readable(s *segment, b *tailBatch) bool {
	return b.bytes != nil && b.at >= 0 && b.base >= s.from && b.end <= s.end && s.written >= b.at+int64(len(b.bytes))
}
