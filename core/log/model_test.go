package log

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/journal"
	"github.com/orrery-log/orrery/core/record"
)

var testID = env.LogID{Topic: [16]byte{7}, Partition: 3}

func testLimits() env.Limits {
	lim := env.DefaultLimits()
	lim.IndexEvery, lim.CheckEvery, lim.Producers = 256, 1024, 2
	return lim
}

// modelBatch is one appended batch as it must be read back.
type modelBatch struct {
	base, end int64
	time      int64
	bytes     string
	lost      bool // its only copy was damaged, and the loss accepted
}

// world is a log, its disk, and a naive model of both: a slice of batches.
type world struct {
	t     *rapid.T
	s     Settings
	lim   env.Limits
	now   env.Now
	j     journal.Journal
	l     *Log
	d     *testDisk
	out   env.Outbox
	cache IndexCache

	batches []modelBatch
	start   int64
	epoch   int32
	next    map[int64]int32 // next sequence of each producer
	// What the state was when the entry was given, for crashes.
	digests map[env.Seq]string
	starts  map[env.Seq]int64
	reads   []Plan
	damaged bool // entries of the journal were damaged in some life
}

func newWorld(t *rapid.T) *world {
	w := &world{t: t, lim: testLimits(), now: env.Now{Mono: 5, Wall: 1e18}, d: newTestDisk(t), cache: NewIndexCache(700)}
	w.s = Settings{
		SegmentBytes: rapid.Int64Range(200, 3000).Draw(t, "segment bytes"), SegmentAge: 40 * env.Millisecond,
		RetentionBytes: 4000, RetentionTime: 300 * env.Millisecond, ProducerExpiry: 500 * env.Millisecond,
		Relaxed: rapid.Bool().Draw(t, "relaxed"),
	}
	w.l, w.j = New(testID, w.s, w.lim), journal.New(1)
	w.next, w.digests, w.starts = map[int64]int32{}, map[env.Seq]string{}, map[env.Seq]int64{}
	return w
}

func (w *world) end() int64 {
	if n := len(w.batches); n > 0 {
		return w.batches[n-1].end
	}
	return w.start
}

// act notes the state at each new entry and hands the Outbox to the disk.
func (w *world) act() {
	for _, e := range w.out.Journal {
		w.digests[e.Seq], w.starts[e.Seq] = string(w.l.Digest(math.MinInt64/2)), w.l.Start()
	}
	w.d.act(&w.out)
	w.l.CheckWellFormed()
	w.j.CheckInvariants()
	w.cache.CheckInvariants()
}

func (w *world) append() {
	n := rapid.IntRange(1, 4).Draw(w.t, "records")
	var records []record.Record
	top, at := int64(-1), int32(0)
	for i := range n {
		time := w.now.WallMillis() + int64(rapid.IntRange(-60, 60).Draw(w.t, "time"))
		if time > top {
			top, at = time, int32(i)
		}
		records = append(records, record.Record{Time: time, Value: make([]byte, rapid.IntRange(0, 120).Draw(w.t, "size"))})
	}
	spec := record.NoProducer()
	if id := int64(rapid.IntRange(-1, 2).Draw(w.t, "producer")); id >= 0 {
		spec.ProducerID, spec.ProducerEpoch, spec.Sequence = id, 0, w.next[id]
	}
	b := record.Build(spec, records)
	v := w.l.Check(b, w.now.WallMillis())
	require.Equal(w.t, Verdict{}, v, "a batch in sequence is refused")
	if rapid.IntRange(0, 9).Draw(w.t, "new epoch") == 0 {
		w.epoch++
	}
	info := env.BatchInfo{Count: int32(n), MaxTime: top, MaxTimeAt: at}
	base, _ := w.l.Append(&w.j, &w.out, w.now, b, info, w.epoch)
	require.Equal(w.t, w.end(), base)
	require.Equal(w.t, base+int64(n), w.l.End())
	w.batches = append(w.batches, modelBatch{base: base, end: base + int64(n), time: top, bytes: string(b)})
	if spec.ProducerID >= 0 {
		w.next[spec.ProducerID] = record.AddSequence(spec.Sequence, int32(n))
		again := w.l.Check(b, w.now.WallMillis())
		require.Equal(w.t, Verdict{Duplicate: true, Base: base, End: base + int64(n), Time: top}, again, "a retry is not recognised")
	}
}

// read follows plans until there is an answer, and compares it with the model.
func (w *world) read() {
	from := rapid.Int64Range(max(0, w.start-2), w.end()+1).Draw(w.t, "from")
	limit := rapid.Int64Range(0, w.end()).Draw(w.t, "limit")
	maxBytes := int32(rapid.IntRange(0, 600).Draw(w.t, "max bytes"))
	minOne := rapid.Bool().Draw(w.t, "min one")
	p := w.l.Read(&w.cache, from, limit, maxBytes, minOne)
	for steps := 0; p.State == Load; steps++ {
		require.Less(w.t, steps, 10, "a read does not end")
		w.l.Began(p)
		data := w.d.read(p)
		w.l.Ended(p)
		p = w.l.Loaded(&w.cache, p, data, false, from, limit, maxBytes, minOne)
	}
	w.compare(p, from, limit, maxBytes, minOne)
}

func (w *world) compare(p Plan, from, limit int64, maxBytes int32, minOne bool) {
	if from < w.start || from > w.end() {
		require.Equal(w.t, OutOfRange, p.State)
		return
	}
	size := 0
	for _, b := range w.batches {
		if b.end <= from || b.lost {
			continue
		}
		if b.end > limit || size+len(b.bytes) > int(maxBytes) && !(size == 0 && minOne) {
			break
		}
		if size == len(p.Data) && size > 0 {
			break // an answer may end early, where memory begins or a segment ends
		}
		require.Equal(w.t, Ready, p.State, "at %d from %d limit %d: %v lost %v", b.base, from, limit, w.l, w.l.Losses())
		require.GreaterOrEqual(w.t, len(p.Data), size+len(b.bytes))
		require.Equal(w.t, b.bytes, string(p.Data[size:size+len(b.bytes)]))
		size += len(b.bytes)
	}
	if size == 0 {
		require.Equal(w.t, Empty, p.State)
	}
	require.Len(w.t, p.Data, size)
}

func (w *world) findTime() {
	time := w.now.WallMillis() + int64(rapid.IntRange(-400, 100).Draw(w.t, "wanted time"))
	limit := w.end()
	if n := len(w.batches); n > 0 && rapid.Bool().Draw(w.t, "limited") {
		limit = w.batches[rapid.IntRange(0, n-1).Draw(w.t, "last")].end
	}
	q := TimeQuery{Time: time, Limit: limit}
	p := w.l.FindTime(&w.cache, &q)
	for steps := 0; p.State == Load; steps++ {
		require.Less(w.t, steps, 200, "a query does not end")
		p = w.l.LoadedTime(&w.cache, &q, p, w.d.read(p), false)
	}
	for _, b := range w.batches {
		if b.end > w.start && b.end <= limit && b.time >= time && !b.lost {
			require.Equal(w.t, Ready, p.State)
			require.Equal(w.t, b.bytes, string(p.Data))
			return
		}
	}
	require.Equal(w.t, Empty, p.State)
}

// beginRead leaves a read outstanding, endRead ends one: files must wait for it.
func (w *world) beginRead() {
	if w.end() == w.start {
		return
	}
	from := rapid.Int64Range(w.start, w.end()-1).Draw(w.t, "from")
	if p := w.l.Read(&w.cache, from, w.end(), 100, true); p.State == Load {
		w.l.Began(p)
		w.reads = append(w.reads, p)
	}
}

func (w *world) endRead() {
	if len(w.reads) > 0 {
		w.d.read(w.reads[0])
		w.l.Ended(w.reads[0])
		w.reads = w.reads[1:]
	}
}

func (w *world) crash() {
	w.d.crash()
	w.reads = nil
	if w.damaged {
		w.d.damage()
	}
	w.l, w.j = w.d.recover(testID, w.s, w.lim, w.now)
	w.cache = NewIndexCache(700)
	last := w.d.synced
	want, lived := w.digests[last]
	if !lived {
		want, w.start = string(New(testID, w.s, w.lim).Digest(0)), 0
	} else {
		w.start = w.starts[last]
	}
	require.Equal(w.t, want, string(w.l.Digest(math.MinInt64/2)), "replay is not what lived at %d", last)
	for len(w.batches) > 0 && w.batches[len(w.batches)-1].end > w.l.End() {
		w.batches = w.batches[:len(w.batches)-1]
	}
	require.Equal(w.t, w.l.End(), w.l.Synced())
	for seq := range w.digests {
		if seq > last {
			delete(w.digests, seq)
		}
	}
	w.takeLosses()
	w.next = map[int64]int32{}
	for _, p := range w.l.Producers() {
		w.next[p.ID] = record.AddSequence(p.LastSequence, 1)
	}
	w.epoch++
	w.readAll()
}

// takeLosses holds what the log calls lost against what was damaged, and accepts it.
func (w *world) takeLosses() {
	if !w.damaged {
		require.True(w.t, w.l.Sound(), "%v lost %v", w.l, w.l.Losses())
		return
	}
	require.Zero(w.t, w.l.RefusesAppends(), "headers tell what the payloads were")
	for i := range w.batches {
		b := &w.batches[i]
		for _, loss := range w.l.Losses() {
			if loss.From < b.end && b.base < loss.To && b.end > w.start {
				require.Contains(w.t, w.d.spoiled, b.base, "%v lost %v", w.l, w.l.Losses())
				require.True(w.t, loss.From <= b.base && b.end <= loss.To || b.base < w.start)
				if !loss.Accepted {
					p := w.l.Read(&w.cache, max(b.base, w.start), w.end(), 100, true)
					require.Equal(w.t, Damaged, p.State)
				}
				b.lost = true
			}
		}
	}
	w.l.Accept(&w.j, &w.out)
	w.act()
	require.True(w.t, w.l.Sound())
}

// readAll reads the log from start to end as a consumer would.
func (w *world) readAll() {
	for from := w.start; from < w.end(); {
		p := w.l.Read(&w.cache, from, w.end(), 300, true)
		for p.State == Load {
			p = w.l.Loaded(&w.cache, p, w.d.read(p), false, from, w.end(), 300, true)
		}
		w.compare(p, from, w.end(), 300, true)
		if p.State == Empty {
			return // what is left is lost
		}
		for rest := p.Data; len(rest) > 0; {
			b, more, ok := record.Next(rest)
			require.True(w.t, ok)
			from, rest = b.End(), more
		}
	}
}

func (w *world) step() {
	switch rapid.IntRange(0, 21).Draw(w.t, "step") {
	default:
		w.append()
	case 7, 8:
		ev := w.d.journaled()
		w.j.Confirm(ev)
		w.l.Journaled(ev.Written, ev.Synced)
		w.l.Pump(&w.j, &w.out, w.now)
		require.LessOrEqual(w.t, w.l.Synced(), w.l.Written())
	case 9, 10:
		w.l.Store(&w.j, &w.out, w.now)
	case 11, 12:
		if ev, ok := w.d.stored(); ok {
			w.l.Stored(&w.j, &w.out, w.now, ev)
		}
	case 13:
		w.l.Checkpoint(&w.j, &w.out)
	case 14:
		w.l.Carry(&w.j, &w.out)
	case 15:
		w.l.Release(&w.j, &w.out, w.now, rapid.Bool().Draw(w.t, "may carry"))
	case 16:
		w.read()
	case 17:
		hw := w.l.Durable()
		w.l.Retain(&w.j, &w.out, w.now, hw)
		require.LessOrEqual(w.t, w.l.Start(), max(hw, w.start))
		w.start = w.l.Start()
	case 18:
		if offset := rapid.Int64Range(w.start, w.l.Durable()+1).Draw(w.t, "new start"); offset <= w.l.Durable() {
			w.l.SetStart(&w.j, &w.out, offset)
			w.start = max(w.start, offset)
		}
	case 19:
		if need := w.l.NeedSeq(); need != 0 {
			upto := uint64(min(need, w.j.Synced()+1)) // another log may hold it back
			w.j.CutTo(&w.out, env.Seq(rapid.Uint64Range(uint64(w.j.Cut()), max(upto, uint64(w.j.Cut()))).Draw(w.t, "cut to")))
		}
	case 20:
		w.findTime()
		w.beginRead()
	case 21:
		w.endRead()
		w.now.Wall += env.Time(rapid.IntRange(-5, 30).Draw(w.t, "passes")) * env.Millisecond
		w.now.Mono += env.Millisecond
	}
	w.act()
}

func TestLogIsASliceThatSurvivesCrashes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(1, 4).Draw(t, "lives") {
			for range rapid.IntRange(40, 200).Draw(t, "steps") {
				w.step()
			}
			w.readAll()
			w.crash()
		}
	})
}

func TestADamagedPayloadCostsItsBatchAtMost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(2, 4).Draw(t, "lives") {
			for range rapid.IntRange(20, 120).Draw(t, "steps") {
				w.step()
			}
			w.readAll()
			w.damaged = w.damaged || rapid.Bool().Draw(t, "damage")
			w.crash()
		}
	})
}
