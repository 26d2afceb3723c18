package log

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/journal"
	"github.com/orrery-log/orrery/core/record"
)

// bench is a log with a journal, for tests that need no disk.
type bench struct {
	l   *Log
	j   journal.Journal
	out env.Outbox
	now env.Now
}

func newBench(s Settings) *bench {
	lim := env.DefaultLimits()
	lim.Producers = 5
	return &bench{l: New(testID, s, lim), j: journal.New(1), now: env.Now{Mono: 1, Wall: 1e15}}
}

func plainSettings() Settings {
	return Settings{SegmentBytes: 1 << 30, RetentionBytes: -1, RetentionTime: -1, ProducerExpiry: 24 * env.Hour}
}

// batch builds one of n records by a producer.
func batch(id int64, epoch int16, sequence int32, n int) record.Batch {
	s := record.NoProducer()
	s.ProducerID, s.ProducerEpoch, s.Sequence = id, epoch, sequence
	return record.Build(s, make([]record.Record, n))
}

func (b *bench) append(batch record.Batch) {
	b.l.Append(&b.j, &b.out, b.now, batch, env.BatchInfo{}, 0)
	b.out.Reset()
}

func TestSequencesAreJudgedAsKafkaDoes(t *testing.T) {
	type try struct {
		epoch    int16
		sequence int32
		n        int
		code     int16
		dup      bool
		base     int64 // of the duplicate
	}
	ok := func(epoch int16, sequence int32, n int) try { return try{epoch: epoch, sequence: sequence, n: n} }
	bad := func(epoch int16, sequence int32, code int16) try {
		return try{epoch: epoch, sequence: sequence, n: 1, code: code}
	}
	dup := func(epoch int16, sequence int32, n int, base int64) try {
		return try{epoch: epoch, sequence: sequence, n: n, dup: true, base: base}
	}
	const top = math.MaxInt32
	for name, tries := range map[string][]try{
		"an unknown producer may begin anywhere":     {ok(3, 17, 2), ok(3, 19, 1)},
		"a gap is refused":                           {ok(0, 0, 2), bad(0, 3, 45), ok(0, 2, 1)},
		"an older sequence is refused":               {ok(0, 5, 2), bad(0, 4, 45), bad(0, 0, 45)},
		"a retry is a duplicate":                     {ok(0, 0, 2), ok(0, 2, 3), dup(0, 0, 2, 0), dup(0, 2, 3, 2), ok(0, 5, 1)},
		"a retry with another count is no duplicate": {ok(0, 0, 2), bad(0, 0, 45)},
		"a retry outside the window is out of order": {ok(0, 0, 1), ok(0, 1, 1), ok(0, 2, 1), ok(0, 3, 1), ok(0, 4, 1), dup(0, 0, 1, 0), ok(0, 5, 1), bad(0, 0, 45), dup(0, 1, 1, 1)},
		"an older epoch is fenced":                   {ok(2, 0, 1), bad(1, 0, 47), bad(1, 1, 47)},
		"a new epoch begins at 0":                    {ok(0, 0, 1), bad(1, 1, 45), ok(1, 0, 1), ok(1, 1, 1)},
		"a new epoch has no duplicates of the old":   {ok(0, 0, 1), ok(1, 0, 1), dup(1, 0, 1, 1), bad(0, 0, 47)},
		"sequences wrap to 0":                        {ok(0, top-1, 2), ok(0, 0, 1), dup(0, top-1, 2, 0), ok(0, 1, 1)},
		"a batch may run over the wrap":              {ok(0, top, 3), ok(0, 2, 1), dup(0, top, 3, 0)},
		"the wrap is not skipped":                    {ok(0, top-1, 1), bad(0, 0, 45), ok(0, top, 1), bad(0, 1, 45), ok(0, 0, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(plainSettings())
			for i, try := range tries {
				v := b.l.Check(batch(9, try.epoch, try.sequence, try.n), b.now.WallMillis())
				require.Equal(t, try.code, v.Code, "try %d", i)
				require.Equal(t, try.dup, v.Duplicate, "try %d", i)
				if try.dup {
					require.Equal(t, try.base, v.Base)
					require.Equal(t, try.base+int64(try.n), v.End)
				}
				if v.Code == 0 && !v.Duplicate {
					b.append(batch(9, try.epoch, try.sequence, try.n))
				}
			}
		})
	}
}

func TestProducersDoNotDisturbEachOther(t *testing.T) {
	b := newBench(plainSettings())
	b.append(batch(1, 0, 0, 3))
	b.append(batch(2, 4, 100, 1))
	require.Equal(t, Verdict{}, b.l.Check(batch(1, 0, 3, 1), b.now.WallMillis()))
	require.Equal(t, outOfOrderSequence, b.l.Check(batch(1, 0, 101, 1), b.now.WallMillis()).Code)
	require.Equal(t, []ProducerState{{1, 0, 2, 0}, {2, 4, 100, 0}}, b.l.Producers())
}

func TestAnExpiredProducerIsUnknownAndItsWindowIsGone(t *testing.T) {
	s := plainSettings()
	s.ProducerExpiry = 100 * env.Millisecond
	b := newBench(s)
	b.append(batch(1, 5, 0, 1))
	b.now.Wall += 99 * env.Millisecond
	require.True(t, b.l.Check(batch(1, 5, 0, 1), b.now.WallMillis()).Duplicate)
	b.now.Wall += env.Millisecond
	require.Equal(t, Verdict{}, b.l.Check(batch(1, 5, 0, 1), b.now.WallMillis()), "before the sweep")
	b.append(batch(1, 2, 7, 1)) // any epoch and sequence may follow
	require.Equal(t, []ProducerState{{1, 2, 7, 0}}, b.l.Producers())
	require.False(t, b.l.Check(batch(1, 5, 0, 1), b.now.WallMillis()).Duplicate)
	b.now.Wall += 100 * env.Millisecond
	b.l.ExpireProducers(b.now.WallMillis())
	require.Empty(t, b.l.Producers())
}

func TestAWallClockThatJumpsBackExpiresNobody(t *testing.T) {
	s := plainSettings()
	s.ProducerExpiry = 100 * env.Millisecond
	b := newBench(s)
	b.append(batch(1, 0, 0, 1))
	b.now.Wall -= env.Hour
	require.True(t, b.l.Check(batch(1, 0, 0, 1), b.now.WallMillis()).Duplicate)
	b.l.ExpireProducers(b.now.WallMillis())
	require.Len(t, b.l.Producers(), 1)
}

func TestEpochEndsAreAnsweredAsKafkaDoes(t *testing.T) {
	var e epochs
	epoch, end := e.end(0, 0)
	require.Equal(t, []int64{-1, -1}, []int64{int64(epoch), end}, "no epochs")
	e.assign(2, 10)
	e.assign(2, 15)
	e.assign(5, 20)
	e.assign(6, 30)
	for _, c := range []struct {
		ask, epoch int32
		end        int64
	}{
		{-1, -1, -1}, // undefined
		{0, 0, 10},   // older than all: it ends where the first begins
		{2, 2, 20},
		{3, 2, 20}, // between: the one before
		{4, 2, 20},
		{5, 5, 30},
		{6, 6, 44}, // the last ends with the log
		{7, -1, -1},
	} {
		epoch, end := e.end(c.ask, 44)
		require.Equal(t, c.epoch, epoch, "epoch %d", c.ask)
		require.Equal(t, c.end, end, "epoch %d", c.ask)
	}
	require.EqualValues(t, []int32{-1, 2, 2, 5, 6, 6}, []int32{e.at(9), e.at(10), e.at(19), e.at(20), e.at(30), e.at(99)})
	e.startAt(25)
	require.Equal(t, []epochStart{{5, 25}, {6, 30}}, e.list)
	e.startAt(40)
	require.Equal(t, []epochStart{{6, 40}}, e.list)
	require.Panics(t, func() { e.assign(5, 41) })
	e.assign(9, 40)
	require.Equal(t, []epochStart{{9, 40}}, e.list, "an epoch without records goes")
}

func TestAppendAllocatesNothingInTheLongRun(t *testing.T) {
	b := newBench(plainSettings())
	batches := make([]record.Batch, 2200)
	for i := range batches {
		batches[i] = batch(7, 0, int32(i), 1)
	}
	b.out.Journal = make([]env.Entry, 0, 4096)
	i := 0
	allocs := testing.AllocsPerRun(2000, func() {
		if v := b.l.Check(batches[i], b.now.WallMillis()); v != (Verdict{}) {
			t.Fatal(v)
		}
		b.l.Append(&b.j, &b.out, b.now, batches[i], env.BatchInfo{}, 0)
		i++
	})
	// Lists double, headers come 8 KiB at a time: far below one each.
	require.Zero(t, allocs)
}

func TestAnIdleLogIsSmall(t *testing.T) {
	const n = 2000
	b := newBench(plainSettings())
	var logs [n]*Log
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range logs {
		logs[i] = New(testID, plainSettings(), env.DefaultLimits())
		logs[i].Append(&b.j, &b.out, b.now, batch(-1, -1, -1, 1), env.BatchInfo{}, 0)
		logs[i].Journaled(b.j.Next()-1, b.j.Next()-1)
		b.out.Reset()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc-before.HeapAlloc)/n, int64(2048), "bytes of a log with one record")
	runtime.KeepAlive(&logs)
}
