package log

import (
	"encoding/binary"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/journal"
)

// checkpointing is what of the journal this log still needs.
//
// A checkpoint entry says all that the entries before it said, except records
// that no segment has on the medium. When it is Synced, only those records'
// entries and what follows the checkpoint are needed. Carrying journals such
// records again behind the checkpoint, so that a log with a small tail lets the
// cut pass without a file.
type checkpointing struct {
	first  env.Seq // the first entry, while no checkpoint is synced; 0: none
	seq    env.Seq // the last synced checkpoint; 0: none
	stored int64   // what it counts as stored

	pending       env.Seq // a checkpoint on its way; 0: none
	pendingStored int64
	pendingUpto   env.Seq // it takes effect when this is Synced: itself, or the last carried entry
	carried       []mark  // new places of the records that go with it

	storedBytes  int64 // bytes of segments that became Synced in this life
	countedBytes int64 // of them, what the last checkpoint (pending too) counted
}

func (c *checkpointing) note(seq env.Seq) {
	if c.seq == 0 && c.first == 0 {
		c.first = seq
	}
}

// journaled lets a pending checkpoint take effect.
func (c *checkpointing) journaled(l *Log, synced env.Seq) {
	if c.pending == 0 || !checkpointHolds(c.pendingUpto, synced) {
		return
	}
	c.seq, c.stored = c.pending, c.pendingStored
	if c.carried != nil {
		l.marks.moved(c.carried)
	}
	l.marks.countedTo(c.stored)
	c.pending, c.pendingUpto, c.carried = 0, 0, nil
}

// checkpointHolds: what a checkpoint replaces may be given up only when it, and
// all that is carried with it, is Synced.
func checkpointHolds(upto, synced env.Seq) bool { return synced >= upto }

// NeedSeq is the first entry that the journal must keep for this log; 0: it needs none.
func (l *Log) NeedSeq() env.Seq {
	if l.Gone() {
		return 0
	}
	if l.check.seq == 0 {
		return l.check.first
	}
	if first := l.marks.first(l.check.stored); first != 0 && first < l.check.seq {
		return first
	}
	return l.check.seq
}

// WantsCheckpoint tells whether the log has moved enough since its last one.
func (l *Log) WantsCheckpoint() bool {
	c := &l.check
	return c.pending == 0 && l.removed == 0 && !l.recovering && c.storedBytes-c.countedBytes >= l.checkEvery
}

// Checkpoint journals one; while one is on its way nothing happens.
func (l *Log) Checkpoint(j *journal.Journal, out *env.Outbox) {
	if l.check.pending != 0 || l.removed != 0 {
		return
	}
	stored := l.storedEnd()
	l.unsaid = false
	header := l.appendCheckpoint(nil, stored)
	c := &l.check
	c.pending = l.journal(j, out, env.Entry{Checkpoint: true, Header: header})
	c.pendingUpto, c.pendingStored, c.countedBytes = c.pending, stored, c.storedBytes
	for i := range l.segments {
		if s := &l.segments[i]; countable(s, s.size) {
			s.runEnd = s.size
		}
	}
}

// Carry journals a checkpoint and, behind it, the records that it does not
// count, with the offsets they have. Afterwards the log needs nothing before it.
func (l *Log) Carry(j *journal.Journal, out *env.Outbox) {
	c := &l.check
	if c.pending != 0 || l.removed != 0 {
		return
	}
	l.Checkpoint(j, out)
	if c.pendingStored < l.tail.base(l.end) {
		return // records that are in a file but not on the medium: only a later checkpoint lets the cut pass
	}
	for i := l.tail.find(c.pendingStored); i < len(l.tail.list); i++ {
		b := &l.tail.list[i]
		if b.bytes == nil {
			continue
		}
		h := describe(b.bytes, env.BatchInfo{MaxTimeAt: int32(b.maxTimeAt - b.base)}, b.wall)
		c.pendingUpto = l.journal(j, out, env.Entry{Header: j.Keep(h.AppendTo(j.Header())), Payload: b.bytes})
		c.carried = append(c.carried, mark{c.pendingUpto, b.end})
		l.marks.barrier = b.end
	}
}

// Release does the next thing that lets the cut pass this log: carry a small
// tail, else store it; checkpoint what is stored. The broker calls it for the
// log that needs the oldest entry, again and again, with carry while the journal
// has room for it.
func (l *Log) Release(j *journal.Journal, out *env.Outbox, now env.Now, carry bool) {
	if l.check.pending != 0 || l.removed != 0 || l.recovering {
		return
	}
	stored := l.storedEnd()
	small := stored >= l.tail.base(l.end) && l.tail.bytesFrom(stored) <= l.carryMax
	switch {
	case small && (carry || l.tail.bytesFrom(stored) == 0):
		l.Carry(j, out)
	case stored > l.check.stored:
		l.Checkpoint(j, out)
	case l.tail.unstored > 0:
		l.hurry = true
		l.Store(j, out, now)
	}
}

// storedEnd is the end of the records that a checkpoint may count: those before
// it are on the medium in segments, below the start, or lost. It may lie below
// the start, where the batch that contains the start is not stored.
func (l *Log) storedEnd() int64 {
	for i := range l.segments {
		if s := &l.segments[i]; !countable(s, s.size) {
			_, end := s.counted()
			return end
		}
	}
	if b := l.tail.firstUnstored(); b != nil {
		return b.base
	}
	return l.end
}

// countable: a checkpoint counts only bytes that are Synced in the segment file;
// Written ones may be gone after a loss of power.
func countable(s *segment, bytes int64) bool { return s.synced >= bytes }

// counted is how much of the segment a checkpoint may count, in whole runs: bytes
// and end offset. It never falls, or a later checkpoint would need records whose
// entries an earlier one has let go: a run ends where a checkpoint counted to.
func (s *segment) counted() (bytes, end int64) {
	if countable(s, s.size) {
		return s.size, s.end
	}
	for i := len(s.index) - 1; i >= 0; i-- {
		if countable(s, s.index[i].at) {
			return s.index[i].at, s.index[i].base
		}
	}
	return 0, s.from
}

const checkpointSegmentMin = 10 // bytes that one segment takes at least

// appendCheckpoint encodes the state as of now; records from stored on are in
// later entries, or in earlier ones that the cut has not passed.
func (l *Log) appendCheckpoint(b []byte, stored int64) []byte {
	b = journal.AppendKind(b, journal.KindCheckpoint)
	b = binary.AppendUvarint(b, uint64(l.start))
	b = binary.AppendUvarint(b, uint64(stored))
	b = binary.AppendUvarint(b, uint64(l.end))
	b = appendEpochs(b, l.epochs.list)
	b = l.appendProducers(b)
	b = l.damage.appendTo(b)
	b = binary.AppendUvarint(b, uint64(len(l.segments)))
	behind := false // a segment behind one that is not wholly counted is not counted at all
	for i := range l.segments {
		s := &l.segments[i]
		c := *s
		if c.size, c.end = s.counted(); behind {
			c.size, c.end = 0, s.from
		}
		b = appendSegment(b, &c, s.whole() && !behind)
		behind = behind || c.size < s.size
	}
	return b
}

// appendSegment encodes a segment whose size and end are what is counted; whole
// tells whether that is all, footer included.
func appendSegment(b []byte, s *segment, whole bool) []byte {
	b = binary.AppendUvarint(b, uint64(s.id.Kind))
	b = binary.AppendUvarint(b, uint64(s.id.Base))
	b = binary.AppendUvarint(b, s.id.Gen)
	b = binary.AppendUvarint(b, uint64(s.from-s.id.Base))
	b = binary.AppendUvarint(b, uint64(s.end-s.from))
	b = binary.AppendUvarint(b, uint64(s.size))
	b = binary.AppendVarint(b, s.firstTime)
	b = binary.AppendVarint(b, s.wall)
	b = journal.AppendBool(b, whole)
	if whole {
		b = binary.AppendUvarint(b, uint64(s.footer))
		b = binary.AppendVarint(b, s.maxTime)
		return binary.AppendUvarint(b, uint64(s.maxTimeAt))
	}
	n := 0
	for n < len(s.index) && s.index[n].at < s.size {
		n++
	}
	return appendRuns(b, s.from, s.index[:n])
}

func (l *Log) parseSegment(r *journal.Reader) segment {
	if r.Uvarint() != uint64(env.Data) {
		r.Fail()
	}
	s := newSegment(l.id, r.Natural(), env.Seq(r.Uvarint()), trimming)
	s.from = s.id.Base + r.Natural()
	s.end = s.from + r.Natural()
	s.size = r.Natural()
	s.firstTime, s.wall = r.Varint(), r.Varint()
	if s.from < s.id.Base || s.end < s.from || (s.size > 0) != (s.end > s.from) {
		r.Fail()
	}
	if r.Bool() {
		s.state, s.footer, s.maxTime, s.maxTimeAt = sealed, r.Natural(), r.Varint(), r.Natural()
		s.written, s.synced = s.size+s.footer, s.size+s.footer
		return s
	}
	s.index, s.runEnd = readRuns(r, s.from, s.end, s.size), s.size
	for i := range s.index {
		if v := &s.index[i]; v.maxTime > s.maxTime {
			s.maxTime, s.maxTimeAt = v.maxTime, v.maxTimeAt
		}
	}
	if (s.size > 0) != (len(s.index) > 0) {
		r.Fail()
	}
	return s
}

func (l *Log) appendProducers(b []byte) []byte {
	ids := l.producerIDs()
	b = binary.AppendUvarint(b, uint64(len(ids)))
	for _, id := range ids {
		p := l.producers[id]
		b = appendProducer(b, id, &p)
	}
	return b
}

func appendProducer(b []byte, id int64, p *producer) []byte {
	b = binary.AppendUvarint(b, uint64(id))
	b = binary.AppendVarint(b, int64(p.epoch))
	b = binary.AppendVarint(b, p.wall)
	b = binary.AppendUvarint(b, uint64(len(p.window)))
	for _, w := range p.window {
		b = binary.AppendVarint(b, int64(w.sequence))
		b = binary.AppendUvarint(b, uint64(w.delta))
		b = binary.AppendUvarint(b, uint64(w.last))
		b = binary.AppendVarint(b, w.time)
	}
	return b
}

// readProducers reads producers whose batches lie before the log's end.
func (l *Log) readProducers(r *journal.Reader) {
	n := r.Count(4)
	if n > 0 {
		l.producers = make(map[int64]producer, n)
	}
	before := int64(-1)
	for range n {
		id := r.Natural()
		p := producer{epoch: r.Int16(), wall: r.Varint()}
		next := int64(0)
		for range r.Count(4) {
			w := wrote{sequence: r.Int32(), delta: r.Int32Natural(), last: r.Natural(), time: r.Varint()}
			if w.sequence < 0 || w.last-int64(w.delta) < next || w.last >= l.end {
				r.Fail()
				return
			}
			next = w.last + 1
			p.window = append(p.window, w)
		}
		if id <= before || !r.OK() {
			r.Fail()
			return
		}
		before = id
		l.producers[id] = p
	}
}

// readCheckpoint takes the state over from a checkpoint's header.
func (l *Log) readCheckpoint(header []byte) bool {
	kind, r, ok := journal.Parse(header)
	if !ok || kind != journal.KindCheckpoint {
		return false
	}
	l.start, l.refilled, l.end = r.Natural(), r.Natural(), r.Natural()
	l.check.stored = l.refilled
	l.epochs.list = readEpochs(&r)
	l.readProducers(&r)
	l.damage.read(&r)
	end := int64(0)
	for range r.Count(checkpointSegmentMin) {
		s := l.parseSegment(&r)
		if s.from < end || s.end > l.end && s.size > 0 || !r.OK() {
			return false
		}
		end = s.end
		l.segments = append(l.segments, s)
	}
	return r.Done() && l.start <= l.end && l.refilled <= l.end
}
