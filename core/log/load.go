package log

import (
	"math"
	"sort"

	"github.com/orrery-log/orrery/core/record"
)

// position is where a reader stopped: the batch at byte at of a segment begins
// with offset. A sequential reader goes on from there without an index.
type position struct {
	gen        uint64
	offset, at int64
}

const positionsMax = 8 // readers of one log that are remembered

// loadMin is what a read asks for at least: a few small batches cost no more than one.
const loadMin = 4 << 10

// readSegment plans the load of the records at w.from, or of the index that tells where they are.
func (l *Log) readSegment(cache *IndexCache, w wish) Plan {
	i := l.segmentOf(w.from)
	if i == len(l.segments) || l.segments[i].from > w.from {
		return Plan{State: Damaged} // no file has it and none was given up: a file fell short
	}
	s := &l.segments[i]
	for k := range l.recent {
		if p := &l.recent[k]; p.gen == s.id.Gen && p.offset == w.from {
			return l.load(s, p.at, p.offset, int64(w.maxBytes))
		}
	}
	runs, ok := s.runs(cache)
	if !ok {
		return s.loadIndex()
	}
	r := &runs[findRun(runs, w.from)]
	return l.load(s, r.at, r.base, int64(w.maxBytes)+l.indexEvery)
}

// runs is the segment's index, when it is in memory. A segment without one, as a
// damaged footer leaves it, is read from its beginning.
func (s *segment) runs(cache *IndexCache) ([]run, bool) {
	if len(s.index) > 0 {
		return s.index, true
	}
	if s.footer == 0 {
		return s.withoutIndex(), true
	}
	return cache.get(s.id)
}

func (s *segment) withoutIndex() []run {
	return []run{{base: s.from, at: 0, maxTime: s.maxTime, maxTimeAt: s.maxTimeAt}}
}

func (s *segment) loadIndex() Plan {
	return Plan{State: Load, Segment: s.id, At: s.size, MaxBytes: int32(min(s.footer, math.MaxInt32)), Index: true}
}

// findRun is the run whose records include offset, or the last before it.
func findRun(runs []run, offset int64) int {
	return max(0, sort.Search(len(runs), func(i int) bool { return runs[i].base > offset })-1)
}

func (l *Log) load(s *segment, at, base, bytes int64) Plan {
	rest := min(s.size, s.written) - at
	if rest <= 0 {
		return Plan{State: Damaged}
	}
	return Plan{State: Load, Segment: s.id, At: at, MaxBytes: int32(min(max(bytes, loadMin), rest, math.MaxInt32)), Base: base}
}

// Began counts a Read of the plan's segment as outstanding.
func (l *Log) Began(p Plan) {
	if s := l.segmentByID(p.Segment); s != nil {
		s.reads++
	}
}

// Ended ends what Began began. A file that waits for it goes with the next Pump.
func (l *Log) Ended(p Plan) {
	if s := l.segmentByID(p.Segment); s != nil {
		if s.reads == 0 {
			panic("log: a read ended that had not begun")
		}
		s.reads--
	}
}

// Loaded goes on with a read once the plan's bytes are there. Everything is
// verified, and clipped to the log as it is now, not as it was when the read
// began. The plan that comes back may be another Load.
func (l *Log) Loaded(cache *IndexCache, p Plan, data []byte, damaged bool, from, limit int64, maxBytes int32, minOne bool) Plan {
	s := l.segmentByID(p.Segment)
	if p.Index {
		if s != nil {
			s.loadedIndex(cache, data, damaged)
		}
		return l.Read(cache, from, limit, maxBytes, minOne)
	}
	w := wish{from, min(limit, l.end), maxBytes, minOne}
	if s == nil || w.from < l.start || w.from >= w.limit {
		return l.Read(cache, from, limit, maxBytes, minOne)
	}
	lost := false
	if w.from, lost = l.damage.pass(w.from); lost {
		return Plan{State: Damaged}
	}
	c := scan{log: l, seg: s, at: p.At, next: p.Base, data: data, unsound: damaged}
	if damaged {
		c.data = nil
	}
	plan := l.cut(&c, p, data, w)
	if plan.State == Damaged && l.stepsOver(cache, &c) {
		return l.Read(cache, from, limit, maxBytes, minOne)
	}
	return plan
}

// stepsOver: an operator has accepted the loss of what can not be read, for this
// life. What the scan met is noted as lost, up to the next place from where the
// segment can be read, and readers go on behind it.
func (l *Log) stepsOver(cache *IndexCache, c *scan) bool {
	if !l.forgiving || l.recovering {
		return false
	}
	to := c.seg.end
	if runs, ok := c.seg.runs(cache); ok {
		if i := findRun(runs, c.next) + 1; i < len(runs) {
			to = runs[i].base
		}
	}
	if c.misfit > c.next {
		to = min(to, c.misfit) // the batch has its place, only its bytes are wrong
	}
	l.damage.add(c.next, to)
	l.damage.accept() // all that was known before is accepted already
	l.unsaid = true
	return true
}

// loadedIndex keeps what was read as the segment's footer; when it is not sound,
// the segment is read without index.
func (s *segment) loadedIndex(cache *IndexCache, data []byte, damaged bool) {
	f, ok := parseFooter(data)
	if damaged || !ok || f.from != s.from || f.end != s.end || f.size != s.size || len(f.runs) == 0 {
		cache.put(s.id, s.withoutIndex())
		return
	}
	cache.put(s.id, f.runs)
}

// cut takes the answer out of the loaded bytes.
func (l *Log) cut(c *scan, p Plan, data []byte, w wish) Plan {
	begin, size, first, next := 0, int64(0), int64(0), int64(0)
	full := false
	for c.step(w.from) {
		if c.batch.End() <= w.from {
			continue
		}
		if full = !fits(w, c.batch.End(), size, int64(len(c.batch))); full {
			break
		}
		if size == 0 {
			begin, first = int(c.at-p.At)-len(c.batch), c.batch.BaseOffset()
		}
		size, next = size+int64(len(c.batch)), c.batch.End()
	}
	if size > 0 {
		end := begin + int(size)
		l.remember(c.seg, first, next, p.At+int64(end))
		return Plan{State: Ready, Data: data[begin:end:end]}
	}
	if full {
		return Plan{State: Empty}
	}
	return l.more(p, c)
}

// more plans the next load when the bytes ended before a whole batch that was wanted.
func (l *Log) more(p Plan, c *scan) Plan {
	s := c.seg
	if c.unsound {
		return Plan{State: Damaged}
	}
	brought, readable := int64(len(c.data))+(c.at-p.At), min(s.size, s.written)
	if brought < int64(p.MaxBytes) {
		return Plan{State: Damaged} // the file is shorter than what was Written
	}
	want := int64(loadMin) + l.indexEvery
	if len(c.data) >= 12 {
		want = int64(record.Batch(c.data).Length()) + 12
		if want < record.HeaderSize || want > readable-c.at {
			return Plan{State: Damaged}
		}
	}
	if c.at == p.At && min(want, readable-c.at) <= int64(p.MaxBytes) {
		return Plan{State: Damaged} // the bytes are there and are no batch
	}
	return l.load(s, c.at, c.next, want)
}

// remember keeps where a reader stopped, in place of where it came from or of the oldest.
func (l *Log) remember(s *segment, first, next, at int64) {
	if at >= s.size {
		return // the next segment begins at byte 0
	}
	p := position{s.id.Gen, next, at}
	for k := range l.recent {
		if r := &l.recent[k]; r.gen == p.gen && r.offset == first || *r == p {
			*r = p
			return
		}
	}
	if len(l.recent) < positionsMax {
		l.recent = append(l.recent, p)
		return
	}
	l.recent[l.turn] = p
	l.turn = (l.turn + 1) % positionsMax
}

// scan walks over the batches in loaded bytes.
type scan struct {
	log   *Log
	seg   *segment
	at    int64 // byte of data's first byte in the segment
	next  int64 // the offset that the batch there must have
	data  []byte
	batch record.Batch // the last one

	unsound bool  // the walk ended at bytes that are not what was stored
	misfit  int64 // then: the end of the batch there, if it has the right place
}

// step goes to the next whole batch. Batches before wanted are only stepped over;
// the others are verified: checksum, and what no checksum covers.
func (c *scan) step(wanted int64) bool {
	b, rest, ok := record.Next(c.data)
	if !ok {
		return false
	}
	if b.BaseOffset() != c.next || b.End() <= c.next || b.End() > c.seg.end || b.Magic() != 2 {
		c.unsound = true
		return false
	}
	if b.End() > wanted && !c.log.verified(b) {
		c.unsound, c.misfit = true, b.End()
		return false
	}
	c.batch, c.data = b, rest
	c.at, c.next = c.at+int64(len(b)), b.End()
	return true
}

// verified: the checksum fits, and the leader epoch, which it does not cover, is
// the one that the log has at that offset.
func (l *Log) verified(b record.Batch) bool {
	return b.Sound() && b.LeaderEpoch() == l.epochs.at(max(b.BaseOffset(), l.start))
}
