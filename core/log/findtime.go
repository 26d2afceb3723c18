package log

// TimeQuery looks for the first record, by offset, whose timestamp is at least
// Time, at From or behind it and before Limit.
type TimeQuery struct {
	Time        int64
	From, Limit int64

	at position // where the last load ended, within a run
}

// timeLoadMax bounds one load of a query: a run is smaller, unless a batch is
// large or the index is lost.
const timeLoadMax = 1 << 20

// FindTime plans the next step of a query:
//
//	Load    issue the Read and give its bytes to LoadedTime
//	Ready   Data is a batch that may have the record; the FindTime job with Time
//	        and From looks inside. Finds it none, go on with From at the batch's end
//	Empty   there is no such record
//	Damaged the search can not pass lost records
//
// Timestamps need not rise with offsets, so the first record counts, not the nearest.
func (l *Log) FindTime(cache *IndexCache, q *TimeQuery) Plan {
	q.From = max(q.From, l.start)
	memory := l.tail.base(l.end)
	for i := l.segmentOf(q.From); i < len(l.segments); i++ {
		s := &l.segments[i]
		if q.From >= q.Limit || q.From >= memory {
			break
		}
		if s.maxTime < q.Time {
			q.From = max(q.From, min(s.end, memory))
			continue
		}
		q.From = max(q.From, s.from)
		runs, ok := s.runs(cache)
		if !ok {
			return s.loadIndex()
		}
		if p, ok := l.findRunByTime(s, runs, q, memory); ok {
			return p
		}
	}
	if q.From >= q.Limit {
		return Plan{State: Empty}
	}
	return l.findTimeInTail(q)
}

// findRunByTime plans the load of the first run at q.From or behind that may
// have the record; not ok: none has, and q.From is behind the segment.
func (l *Log) findRunByTime(s *segment, runs []run, q *TimeQuery, memory int64) (Plan, bool) {
	for k := findRun(runs, q.From); k < len(runs); k++ {
		r, end, size := &runs[k], s.end, s.size
		if k+1 < len(runs) {
			end, size = runs[k+1].base, runs[k+1].at
		}
		if r.base >= memory || q.From >= memory {
			break
		}
		if r.maxTime >= q.Time {
			at, base := r.at, r.base
			if q.at.gen == s.id.Gen && q.at.at > at && q.at.at < size {
				at, base = q.at.at, q.at.offset
			}
			return l.load(s, at, base, min(size-at, timeLoadMax)), true
		}
		q.From = max(q.From, min(end, memory))
	}
	q.From = max(q.From, min(s.end, memory))
	return Plan{}, false
}

func (l *Log) findTimeInTail(q *TimeQuery) Plan {
	for i := l.tail.find(q.From); i < len(l.tail.list); i++ {
		b := &l.tail.list[i]
		if !belowLimit(b.end, q.Limit) {
			break
		}
		if b.maxTime < q.Time {
			continue
		}
		if _, lost := l.damage.pass(b.base); b.bytes == nil && lost {
			return Plan{State: Damaged} // the record may be the one; to step over it would answer a later one
		}
		if b.bytes != nil {
			q.From = max(q.From, b.base)
			return Plan{State: Ready, Data: b.bytes}
		}
	}
	return Plan{State: Empty}
}

// LoadedTime goes on with a query once the plan's bytes are there.
func (l *Log) LoadedTime(cache *IndexCache, q *TimeQuery, p Plan, data []byte, damaged bool) Plan {
	s := l.segmentByID(p.Segment)
	if s == nil {
		return l.FindTime(cache, q)
	}
	if p.Index {
		s.loadedIndex(cache, data, damaged)
		return l.FindTime(cache, q)
	}
	from := max(q.From, l.start)
	if from >= s.end {
		return l.FindTime(cache, q) // the start has moved
	}
	c := scan{log: l, seg: s, at: p.At, next: p.Base, data: data, unsound: damaged}
	if damaged {
		c.data = nil
	}
	for c.step(from) {
		b := c.batch
		if !belowLimit(b.End(), q.Limit) {
			return Plan{State: Empty}
		}
		if b.End() > from && b.MaxTimestamp() >= q.Time {
			q.From = max(from, b.BaseOffset())
			return Plan{State: Ready, Data: b}
		}
	}
	if c.unsound || c.next <= from { // or the wanted batch was not whole
		plan := l.more(p, &c)
		if plan.State != Damaged {
			return plan
		}
		l.stepsOver(cache, &c)
		next, lost := l.damage.pass(c.next)
		if lost || next <= from {
			return plan
		}
		q.From = next // behind an accepted loss
		return l.FindTime(cache, q)
	}
	q.From, q.at = c.next, position{s.id.Gen, c.next, c.at}
	return l.FindTime(cache, q)
}

// MaxTime is the largest timestamp of the records from the start to limit and the offset of
// the first one that has it; -1 and -1: there is none.
func (l *Log) MaxTime(limit int64) (time, offset int64) {
	time, offset = -1, -1
	take := func(t, at int64) {
		if t > time && at >= l.start && at < limit {
			time, offset = t, at
		}
	}
	for i := range l.segments {
		s := &l.segments[i]
		if s.size == 0 {
			continue
		}
		take(s.maxTime, s.maxTimeAt)
		for k := range s.index { // when the segment's own maximum lies behind the limit
			take(s.index[k].maxTime, s.index[k].maxTimeAt)
		}
	}
	for i := l.tail.next; i < len(l.tail.list); i++ {
		take(l.tail.list[i].maxTime, l.tail.list[i].maxTimeAt)
	}
	return time, offset
}
