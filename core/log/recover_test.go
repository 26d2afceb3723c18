package log

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/journal"
	"github.com/orrery-log/orrery/core/record"
)

// written is a log of n batches of one record, and its journal: entries 1 to n.
func written(n int32) (*bench, []env.Entry) {
	b := newBench(plainSettings())
	for i := range n {
		b.l.Append(&b.j, &b.out, b.now, batch(3, 0, i, 1), env.BatchInfo{}, 0)
	}
	entries := slices.Clone(b.out.Journal)
	b.confirm()
	return b, entries
}

// again replays entries into a new log.
func again(entries []env.Entry, damages ...env.Damage) *Log {
	l := Begin(testID, env.DefaultLimits())
	for _, d := range damages {
		l.Damaged(d, slices.Contains(d.Logs, testID))
	}
	var out env.Outbox
	for _, e := range entries {
		l.Replay(&out, e)
	}
	l.Recovered(env.Now{})
	l.Apply(plainSettings())
	l.CheckWellFormed()
	return l
}

func TestALostHeaderCostsTheLogsThatItNames(t *testing.T) {
	_, entries := written(6)
	other := env.LogID{Partition: 99}
	for name, c := range map[string]struct {
		entries []env.Entry
		damage  env.Damage
		refuses bool
		losses  []Loss
	}{
		"it names this log, at the end":              {entries[:4], env.Damage{Logs: []env.LogID{testID}, After: 4}, true, nil},
		"it names another":                           {entries[:4], env.Damage{Logs: []env.LogID{other}, After: 4}, false, nil},
		"it names nobody, and a later entry shows":   {entries, env.Damage{After: 3, Upto: 6}, false, nil},
		"it names nobody, and nothing comes later":   {entries[:4], env.Damage{After: 4}, true, nil},
		"entries in the middle are missing":          {append(slices.Clone(entries[:2]), entries[4:]...), env.Damage{After: 2, Upto: 5}, true, []Loss{{2, 4, false}}},
		"it names this log, though nothing is amiss": {entries, env.Damage{Logs: []env.LogID{testID}, After: 3, Upto: 4}, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l := again(c.entries, c.damage)
			require.Equal(t, c.refuses, l.RefusesAppends() == kafkaStorageError)
			require.Equal(t, c.refuses, l.Check(batch(3, 0, 6, 1), 1e9).Code == kafkaStorageError)
			require.Equal(t, c.losses, l.Losses())
			require.Equal(t, !c.refuses, l.Sound())
			for offset := range l.End() {
				want := Ready
				for _, loss := range c.losses {
					if loss.From <= offset && offset < loss.To {
						want = Damaged
					}
				}
				require.Equal(t, want, l.Read(nil, offset, l.End(), 1000, true).State, "what is sound is served")
			}
		})
	}
}

func TestACheckpointBehindADamageCoversIt(t *testing.T) {
	b, entries := written(4)
	b.l.Carry(&b.j, &b.out)
	carried := slices.Clone(b.out.Journal)
	l, ok := Restore(testID, carried[0].Header, carried[0].Seq, env.DefaultLimits())
	require.True(t, ok)
	l.Damaged(env.Damage{Logs: []env.LogID{testID}, After: 1, Upto: 4}, true)
	var out env.Outbox
	l.Replay(&out, entries[0])
	l.Replay(&out, entries[3])
	for _, e := range carried {
		l.Replay(&out, e)
	}
	l.Recovered(env.Now{})
	l.Apply(plainSettings())
	require.True(t, l.Sound())
	require.Zero(t, l.Compare(b.l, b.now.WallMillis()))
	p := l.Read(nil, 0, 4, 1<<20, true)
	require.Equal(t, Ready, p.State)
	require.Equal(t, b.l.Read(nil, 0, 4, 1<<20, true).Data, p.Data)
}

func TestADamagedPayloadTellsWhatItWas(t *testing.T) {
	b, entries := written(5)
	entries[2].Damaged, entries[2].Payload = true, nil
	l := again(entries)
	require.Zero(t, l.Compare(b.l, b.now.WallMillis()), "the header has all that state needs")
	require.Equal(t, []Loss{{2, 3, false}}, l.Losses())
	require.Zero(t, l.RefusesAppends())
	require.True(t, l.Check(batch(3, 0, 2, 1), b.now.WallMillis()).Duplicate, "it was written")
	require.Equal(t, Damaged, l.Read(nil, 2, 5, 1000, true).State)
	p := l.Read(nil, 0, 5, 1000, true)
	require.EqualValues(t, 2, record.Batch(p.Data).End()+1, "an answer ends before what is lost")
	lost, ok := journalRecords(t, entries[2])
	require.True(t, ok)
	require.Equal(t, Damaged, l.FindTime(nil, &TimeQuery{Time: lost.MaxTime, From: 2, Limit: 5}).State, "the record asked for may be the lost one")
	j, out := b.j, env.Outbox{}
	require.NotZero(t, l.Accept(&j, &out))
	p = l.Read(nil, 2, 5, 1, true)
	require.EqualValues(t, 3, record.Batch(p.Data).BaseOffset(), "accepted losses are stepped over")
}

func TestAnAcceptedLossStaysAcceptedThroughTheSameGap(t *testing.T) {
	b, entries := written(5)
	l := again(append(slices.Clone(entries[:1]), entries[3:]...), env.Damage{After: 1, Upto: 4})
	require.Equal(t, kafkaStorageError, l.RefusesAppends())
	j, out := b.j, env.Outbox{}
	l.Accept(&j, &out)
	require.Zero(t, l.RefusesAppends())
	require.True(t, l.Sound())

	accepted := out.Journal
	require.True(t, accepted[1].Checkpoint)
	second, ok := Restore(testID, accepted[1].Header, accepted[1].Seq, env.DefaultLimits())
	require.True(t, ok)
	second.Damaged(env.Damage{After: 1, Upto: 4}, false)
	for _, e := range slices.Concat(entries[:1], entries[3:], accepted) {
		second.Replay(&env.Outbox{}, e)
	}
	second.Recovered(env.Now{})
	require.Equal(t, []Loss{{1, 3, true}}, second.Losses())
	require.True(t, second.Sound())
}

func TestAnAcceptedLossAtTheEndIsWaitedAt(t *testing.T) {
	b, entries := written(3)
	entries[2].Damaged, entries[2].Payload = true, nil
	l := again(entries)
	require.NotZero(t, l.Accept(&b.j, &env.Outbox{}))
	require.Equal(t, Empty, l.Read(nil, 2, 3, 1000, true).State, "nothing follows what is stepped over")
	require.Zero(t, l.Available(2, 3, 1), "a long poll waits for what follows")
	require.EqualValues(t, 1, min(1, l.Available(1, 3, 1)))
}

func TestAnEntryThatNobodyUnderstandsStopsAppends(t *testing.T) {
	_, entries := written(2)
	strange := env.Entry{Seq: 3, Header: []byte{byte(journal.KindTruncate), 1, 0}}
	l := again(append(entries, strange))
	require.Equal(t, kafkaStorageError, l.RefusesAppends())
	require.EqualValues(t, 2, l.End())
}

func TestARemovedLogComesBackAsRemoved(t *testing.T) {
	b, entries := written(2)
	b.l.Remove(&b.j, &b.out)
	drop := b.out.Journal[0]
	require.True(t, drop.Checkpoint)
	l, ok := Restore(testID, drop.Header, drop.Seq, env.DefaultLimits())
	require.True(t, ok)
	require.True(t, l.Gone())
	l.Replay(&env.Outbox{}, entries[0])
	l.Recovered(env.Now{})
	require.True(t, l.Gone())
	require.Zero(t, l.NeedSeq())
	require.True(t, again(append(entries, drop)).Removed())
}

func journalRecords(t *testing.T, e env.Entry) (journal.Records, bool) {
	kind, r, ok := journal.Parse(e.Header)
	require.True(t, ok)
	require.Equal(t, journal.KindRecords, kind)
	return journal.ParseRecords(r)
}
