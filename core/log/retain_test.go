package log

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
)

// stamped appends a batch of one record with that timestamp, ms.
func (b *bench) stamped(time int64, value int) {
	batch := record.Build(record.NoProducer(), []record.Record{{Time: time, Value: make([]byte, value)}})
	b.l.Append(&b.j, &b.out, b.now, batch, env.BatchInfo{MaxTime: time}, 0)
	b.confirm()
}

// confirm has everything in the Outbox happen at once, until nothing more comes of it.
func (b *bench) confirm() {
	for len(b.out.Journal)+len(b.out.Stores) > 0 {
		stores := append([]env.Store(nil), b.out.Stores...)
		drops := b.out.Drops
		b.out.Reset()
		b.out.Drops = drops
		b.j.Confirm(env.Journaled{Written: b.j.Next() - 1, Synced: b.j.Next() - 1})
		b.l.Journaled(b.j.Written(), b.j.Synced())
		b.l.Pump(&b.j, &b.out, b.now)
		for _, st := range stores {
			n := st.At
			for _, d := range st.Data {
				n += int64(len(d))
			}
			b.l.Stored(&b.j, &b.out, b.now, env.Stored{Segment: st.Segment, Written: n, Synced: n})
		}
	}
	b.l.CheckWellFormed()
}

func (b *bench) store() {
	b.l.Store(&b.j, &b.out, b.now)
	b.confirm()
}

func TestRetentionDropsWhatKafkaWould(t *testing.T) {
	const ms = env.Millisecond
	base := int64(1e9) // ms
	for name, c := range map[string]struct {
		change func(s *Settings)
		at     int64 // ms behind base
		hw     int64
		start  int64
	}{
		"nothing without limits":                      {func(s *Settings) {}, 1e6, 6, 0},
		"segments older than retention.ms":            {func(s *Settings) { s.RetentionTime = 100 * ms }, 131, 6, 4},
		"not one that is just as old":                 {func(s *Settings) { s.RetentionTime = 100 * ms }, 130, 6, 2},
		"the active one too, once it has expired":     {func(s *Settings) { s.RetentionTime = 100 * ms }, 151, 6, 6},
		"never past the high watermark":               {func(s *Settings) { s.RetentionTime = 100 * ms }, 1000, 3, 2},
		"the active one only with the high watermark": {func(s *Settings) { s.RetentionTime = 100 * ms }, 1000, 5, 4},
		"by size, while what is left is large enough": {func(s *Settings) { s.RetentionBytes = 4 * 170 }, 0, 6, 2},
		"by size, not below the limit":                {func(s *Settings) { s.RetentionBytes = 4*170 + 1 }, 0, 6, 0},
		"by size, the high watermark holds":           {func(s *Settings) { s.RetentionBytes = 170 }, 0, 3, 0},
		"by size, the active one stays":               {func(s *Settings) { s.RetentionBytes = 1 }, 0, 6, 4},
		"all of it with retention.bytes=0":            {func(s *Settings) { s.RetentionBytes = 0 }, 0, 6, 6},
	} {
		t.Run(name, func(t *testing.T) {
			s := plainSettings()
			s.SegmentBytes = 340 // two batches of 170 bytes
			c.change(&s)
			b := newBench(s)
			b.now.Wall = env.Time(base) * ms
			for i := range int64(6) {
				b.stamped(base+10*i, 100)
			}
			b.store()
			require.Len(t, b.l.segments, 3)
			require.EqualValues(t, 6*170, b.l.Size())
			b.now.Wall = env.Time(base+c.at) * ms
			b.l.Retain(&b.j, &b.out, b.now, c.hw)
			require.Equal(t, c.start, b.l.Start())
			require.Empty(t, b.out.Drops, "before the entry is synced")
			b.confirm()
			require.Len(t, b.out.Drops, int(c.start/2))
			require.Len(t, b.l.segments, 3-int(c.start/2))
		})
	}
}

func TestRecordsInMemoryExpireToo(t *testing.T) {
	s := plainSettings()
	s.RetentionTime = 100 * env.Millisecond
	b := newBench(s)
	b.stamped(b.now.WallMillis(), 10)
	b.now.Wall += 100 * env.Millisecond
	b.l.Retain(&b.j, &b.out, b.now, 1)
	require.EqualValues(t, 0, b.l.Start())
	b.now.Wall += env.Millisecond
	b.l.Retain(&b.j, &b.out, b.now, 1)
	b.confirm()
	require.EqualValues(t, 1, b.l.Start())
	require.Zero(t, b.l.TailBytes())
	require.Equal(t, OutOfRange, b.l.Read(nil, 0, 1, 100, true).State)
	require.Equal(t, Empty, b.l.Read(nil, 1, 1, 100, true).State)
}

func TestRecordsWithoutTimestampExpireByWhenTheyCame(t *testing.T) {
	s := plainSettings()
	s.RetentionTime = 100 * env.Millisecond
	b := newBench(s)
	b.stamped(-1, 10)
	b.l.Retain(&b.j, &b.out, b.now, 1)
	require.EqualValues(t, 0, b.l.Start())
	b.store()
	b.now.Wall += 101 * env.Millisecond
	b.l.Retain(&b.j, &b.out, b.now, 1)
	require.EqualValues(t, 1, b.l.Start())
}

func TestASegmentRollsBySizeAndByAge(t *testing.T) {
	s := plainSettings()
	s.SegmentBytes, s.SegmentAge = 400, 50*env.Millisecond
	b := newBench(s)
	for _, time := range []int64{1000, 1051, 1060, 1070, 1120, 1100} {
		b.stamped(time, 100)
	}
	b.store()
	var froms []int64
	for i := range b.l.segments {
		froms = append(froms, b.l.segments[i].from)
	}
	require.Equal(t, []int64{0, 1, 3, 5}, froms, "1051 is too young, then two fill one, though 1120 is just 50 younger than 1070")
}

func TestFilesOfARemovedLogWaitForItsEntryAndItsReaders(t *testing.T) {
	b := newBench(plainSettings())
	b.stamped(1, 10)
	b.store()
	p := b.l.Read(nil, 0, 1, 100, true)
	require.Equal(t, Load, p.State)
	b.l.Began(p)
	need := b.l.NeedSeq()
	b.l.Remove(&b.j, &b.out)
	require.Empty(t, b.out.Drops)
	require.Equal(t, need, b.l.NeedSeq(), "until the removal is synced a crash brings the log back")
	b.confirm()
	require.Empty(t, b.out.Drops, "a read is outstanding")
	require.False(t, b.l.Gone())
	b.l.Ended(p)
	b.l.Pump(&b.j, &b.out, b.now)
	require.Equal(t, []env.SegmentID{p.Segment}, b.out.Drops)
	require.True(t, b.l.Gone())
	require.Zero(t, b.l.NeedSeq())
}
