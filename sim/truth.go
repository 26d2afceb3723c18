package sim

import (
	"encoding/binary"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
)

// truth is what clients have been told so far: the oracle behind O1, O2 and O4.
// It knows nothing of the broker's inside. Every answer is compared with all
// earlier ones at the moment it arrives.
type truth struct {
	w       *world
	topics  map[[16]byte]*topicTruth
	order   []*logTruth
	records []recordTruth // by record id; 0 names no record
	acked   int64
}

// topicTruth is one topic as long as it has one id.
type topicTruth struct {
	id             [16]byte
	name           string
	plan           int
	relaxed        bool
	appendTime     bool
	retentionMs    int64
	retentionBytes int64
	parts          []*logTruth

	possible []string // values that the setting changed by administrators may have
	sets     uint64   // changes begun and ended
	setting  int      // changes under way
	unsure   bool     // some change has an unknown end
}

// logTruth is what is known of one partition.
type logTruth struct {
	topic     *topicTruth
	partition int32
	claims    []claim // by offset
	floor     int64   // the highest end that somebody was told
	told      int64   // the highest watermark of any answer, this one included
	floors    []floor // how it rose, on relaxed topics
	start     int64   // the highest log start that somebody was told
	starts    []floor // how it rose by being shown
	begun     int64   // the highest offset that an answered DeleteRecords asked for
	purge     int64   // the highest offset that DeleteRecords was asked for
	shaken    bool    // power was lost under a relaxed topic
	blind     bool    // it has lost an entry of the journal: nothing is known of it any more
	rotten    bool    // a synced byte of it was changed: it may refuse, not lie
}

type floor struct {
	at  env.Time
	end int64
}

// claim is what somebody was told of one offset.
type claim struct {
	id   uint64
	at   env.Time // when first told
	time int64    // its timestamp, ms
	weak bool     // only acks=1 has told it
	ack  bool     // it was acknowledged
}

// recordTruth is one record that some client has tried to write.
type recordTruth struct {
	topic     int
	partition int32
	time      int64 // CreateTime
	size      int32
	attempts  int32
	copies    int32  // offsets that claim it
	at        int64  // one of them; -1: none
	session   uint64 // of an idempotent producer; 0: plain
	order     int64  // within the session and partition
}

func newTruth(w *world) *truth {
	return &truth{w: w, topics: map[[16]byte]*topicTruth{}, records: make([]recordTruth, 1, 1024)}
}

// newRecord names a new record.
func (t *truth) newRecord(r recordTruth) uint64 {
	r.at = -1
	t.records = append(t.records, r)
	return uint64(len(t.records) - 1)
}

// topic learns that a topic has an id.
func (t *truth) topic(id [16]byte, plan int, partitions int) *topicTruth {
	tt := t.topics[id]
	if tt == nil {
		p := &t.w.plan.Topics[plan]
		tt = &topicTruth{id: id, name: p.Name, plan: plan, relaxed: p.Relaxed(), appendTime: p.setting("message.timestamp.type") == "LogAppendTime",
			retentionMs: atoi(p.setting("retention.ms")), retentionBytes: atoi(p.setting("retention.bytes"))}
		t.topics[id] = tt
	}
	for len(tt.parts) < partitions {
		l := &logTruth{topic: tt, partition: int32(len(tt.parts))}
		tt.parts = append(tt.parts, l)
		t.order = append(t.order, l)
	}
	return tt
}

func (t *truth) log(id [16]byte, partition int32) *logTruth {
	if tt := t.topics[id]; tt != nil && int(partition) < len(tt.parts) {
		return tt.parts[partition]
	}
	return nil
}

// produced takes an acknowledgement: the records of a batch stand from base on.
func (t *truth) produced(l *logTruth, base int64, first uint64, count int, acks int16, stamp int64) {
	for i := range count {
		id := first + uint64(i)
		time := t.records[id].time
		if stamp >= 0 {
			time = stamp
		}
		t.claim(l, base+int64(i), id, time, acks == 1, true)
	}
	t.acked += int64(count)
	t.w.stats.Acked += int64(count)
	if acks == -1 {
		t.raise(l, base+int64(count))
	}
}

// raise notes that somebody was told of an end.
func (t *truth) raise(l *logTruth, end int64) {
	if end <= l.floor {
		return
	}
	l.floor = end
	if l.topic.relaxed {
		l.floors = append(l.floors, floor{t.w.now, end})
	}
}

// claim notes that an offset holds a record and compares it with what was told before.
func (t *truth) claim(l *logTruth, o int64, id uint64, time int64, weak, ack bool) {
	if l.blind {
		return
	}
	if o < 0 {
		t.w.fail(inconsistent, "%s: an acknowledgement at offset %d", l, o)
	}
	for int64(len(l.claims)) <= o {
		l.claims = append(l.claims, claim{})
	}
	c := &l.claims[o]
	r := &t.records[id]
	if c.id != 0 && c.id != id {
		what := inconsistent
		if c.ack || ack {
			what = lost
		}
		if ack && r.session != 0 {
			what = notOnce
		}
		t.w.fail(what, "%s offset %d: record %d (%s) where record %d (%s, acknowledged %v) stands", l, o, id, t.about(id), c.id, t.about(c.id), c.ack)
	}
	if c.id == id {
		c.weak = c.weak && weak
		c.ack = c.ack || ack
		if l.topic.appendTime && c.time < 0 {
			c.time = time
		}
		return
	}
	*c = claim{id: id, at: t.w.now, time: time, weak: weak, ack: ack}
	r.copies++
	if r.copies > r.attempts {
		t.w.fail(notOnce, "%s: record %d (%s) stands at %d and %d and was sent %d times", l, id, t.about(id), r.at, o, r.attempts)
	}
	if r.session != 0 && r.copies > 1 {
		t.w.fail(notOnce, "%s: record %d (%s) of an idempotent producer stands at %d and %d", l, id, t.about(id), r.at, o)
	}
	r.at = o
}

func (t *truth) about(id uint64) string {
	r := &t.records[id]
	if r.session != 0 {
		return "session " + utoa(r.session) + " order " + utoa(uint64(r.order))
	}
	return "plain"
}

// view is what a reader knew when it asked: what it is told must not be older.
type view struct{ floor, start int64 }

func (l *logTruth) view() view { return view{l.floor, l.start} }

// bounds takes the watermark and the log start of an answer; -1: not told.
func (t *truth) bounds(l *logTruth, v view, hw, start int64) {
	if l.blind {
		return
	}
	if hw >= 0 && hw < min(v.floor, l.floor) {
		t.w.fail(lost, "%s: the log ends at %d, and somebody had been told %d before", l, hw, v.floor)
	}
	if start >= 0 {
		if start < min(v.start, l.start) {
			t.w.fail(inconsistent, "%s: the log starts at %d, and somebody had been told %d before", l, start, v.start)
		}
		if hw >= 0 && start > hw {
			t.w.fail(lost, "%s: the log starts at %d, above its watermark %d", l, start, hw)
		}
		l.told = max(l.told, hw)
		if !t.mayStart(l, start) {
			t.w.fail(lost, "%s: the log starts at %d; it started at %d, DeleteRecords asked for %d, and what lies between has not expired", l, start, l.start, l.purge)
		}
		if start > l.start {
			l.start = start
			l.starts = append(l.starts, floor{t.w.now, start})
		}
	}
	if hw >= 0 {
		t.raise(l, hw)
	}
}

// fetched takes the batches of a fetch from an offset and returns the next one.
func (t *truth) fetched(l *logTruth, v view, from, hw, start int64, data []byte) int64 {
	t.bounds(l, v, hw, start)
	next := from
	first := true
	for len(data) > 0 {
		b, rest, ok := record.Next(data)
		if !ok {
			break // a batch that was cut at the end of the answer
		}
		data = rest
		if !b.Sound() {
			t.w.fail(inconsistent, "%s: a batch at %d with a wrong checksum", l, b.BaseOffset())
		}
		switch {
		case first && b.End() <= from:
			t.w.fail(inconsistent, "%s: asked for %d, got %v", l, from, b)
		case first && b.BaseOffset() > from || !first && b.BaseOffset() != next:
			t.gap(l, next, b.BaseOffset())
		}
		if b.End() > hw {
			t.w.fail(inconsistent, "%s: %v is shown above the watermark %d", l, b, hw)
		}
		t.batch(l, b)
		next = b.End()
		first = false
	}
	return next
}

// gap fails: offsets were stepped over that nothing may have taken.
func (t *truth) gap(l *logTruth, from, to int64) {
	if l.blind {
		return
	}
	what := inconsistent
	for o := from; o < to && o < int64(len(l.claims)); o++ {
		if l.claims[o].ack {
			what = lost
		}
	}
	t.w.fail(what, "%s: asked for %d, and the next batch begins at %d", l, from, to)
}

// batch takes the records of one batch that was read.
func (t *truth) batch(l *logTruth, b record.Batch) {
	data, ok := unpack(b)
	if !ok {
		t.w.fail(inconsistent, "%s: %v does not unpack", l, b)
	}
	records, ok := record.Parse(b, data)
	if !ok || len(records) == 0 || records[len(records)-1].Offset != b.LastOffset() {
		t.w.fail(inconsistent, "%s: %v does not parse", l, b)
	}
	for i := range records {
		r := &records[i]
		id := t.identify(l, r)
		t.claim(l, r.Offset, id, r.Time, false, false)
		t.w.stats.Consumed++
	}
}

// identify tells which record it is, and holds that it is as it was sent.
func (t *truth) identify(l *logTruth, r *record.Record) uint64 {
	if len(r.Value) < 8 {
		t.w.fail(inconsistent, "%s: a record at %d that nobody wrote: %x", l, r.Offset, r.Value)
	}
	id := recordID(r)
	if id == 0 || id >= uint64(len(t.records)) {
		t.w.fail(inconsistent, "%s: a record at %d that nobody wrote: %x", l, r.Offset, r.Value[:8])
	}
	rt := &t.records[id]
	if rt.topic != l.topic.plan || rt.partition != l.partition {
		t.w.fail(inconsistent, "%s: record %d at %d was sent to partition %d of %s", l, id, r.Offset, rt.partition, t.w.plan.Topics[rt.topic].Name)
	}
	if int32(len(r.Value)) != rt.size || !l.topic.appendTime && r.Time != rt.time || !filled(r.Value, id) {
		t.w.fail(inconsistent, "%s: record %d at %d was changed: %d bytes at time %d, sent %d at %d", l, id, r.Offset, len(r.Value), r.Time, rt.size, rt.time)
	}
	return id
}

// recordID is the id that a value begins with; 0: none.
func recordID(r *record.Record) uint64 {
	if len(r.Value) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(r.Value)
}

// foundTime takes an answer of ListOffsets by timestamp; -1: no record.
func (t *truth) foundTime(l *logTruth, v view, ask, offset, time int64) {
	if l.blind || l.rotten { // what is damaged is stepped over in a search by time
		return
	}
	end := min(v.floor, l.floor)
	if offset >= 0 {
		end = offset
		if offset < int64(len(l.claims)) && l.claims[offset].id != 0 && l.claims[offset].time >= 0 && l.claims[offset].time != time || time < ask {
			t.w.fail(inconsistent, "%s: asked for time %d, found offset %d with time %d, which has %d", l, ask, offset, time, l.claims[offset].time)
		}
	}
	for o := l.start; o < end && o < int64(len(l.claims)); o++ {
		if c := l.claims[o]; c.id != 0 && !c.weak && c.time >= ask && !t.mayStart(l, o+1) {
			t.w.fail(inconsistent, "%s: asked for time %d, found offset %d, but offset %d has time %d", l, ask, offset, o, c.time)
		}
	}
}

// outOfRange takes a refusal: it must be below the start or above the end.
func (t *truth) outOfRange(l *logTruth, v view, from int64) {
	if !l.blind && from <= min(v.floor, l.floor) && !t.mayStart(l, from+1) {
		t.w.fail(lost, "%s: offset %d is out of range, though the log starts at %d and reached %d", l, from, l.start, v.floor)
	}
}

func (l *logTruth) String() string { return l.topic.name + "-" + utoa(uint64(l.partition)) }

// damaged tells whether synced bytes of any log were changed.
func (t *truth) damaged() bool {
	for _, l := range t.order {
		if l.rotten {
			return true
		}
	}
	return false
}
