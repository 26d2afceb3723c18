package journal

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orrery-log/orrery/core/env"
)

func drawRecords(t *rapid.T) Records {
	h := Records{
		Base:  rapid.Int64Range(0, 1<<40).Draw(t, "base"),
		Epoch: rapid.Int32Range(0, 1<<30).Draw(t, "epoch"),
		Bytes: rapid.Int32Range(0, 1<<30).Draw(t, "bytes"), Count: rapid.Int32Range(0, 1<<20).Draw(t, "count"),
		MaxTime: rapid.Int64Range(-1, 1<<45).Draw(t, "time"), Wall: rapid.Int64().Draw(t, "wall"),
		Transactional: rapid.Bool().Draw(t, "transactional"), Control: rapid.Bool().Draw(t, "control"),
		ProducerID: -1, ProducerEpoch: -1, Sequence: -1,
	}
	h.Last = h.Base + rapid.Int64Range(0, 1<<31-1).Draw(t, "delta")
	h.MaxTimeAt = rapid.Int64Range(h.Base, h.Last).Draw(t, "at")
	if rapid.Bool().Draw(t, "idempotent") {
		h.ProducerID, h.ProducerEpoch = rapid.Int64Range(0, 1<<62).Draw(t, "id"), rapid.Int16Range(0, 1<<14).Draw(t, "producer epoch")
		h.Sequence, h.Fresh = rapid.Int32Range(0, 1<<31-1).Draw(t, "sequence"), rapid.Bool().Draw(t, "fresh")
	}
	return h
}

func TestHeadersParseBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawRecords(t)
		kind, r, ok := Parse(h.AppendTo(nil))
		require.True(t, ok)
		require.Equal(t, KindRecords, kind)
		got, ok := ParseRecords(r)
		require.True(t, ok)
		require.Equal(t, h, got)

		open := Open{h.Base}
		kind, r, ok = Parse(open.AppendTo(nil))
		require.True(t, ok)
		require.Equal(t, KindOpen, kind)
		gotOpen, ok := ParseOpen(r)
		require.True(t, ok)
		require.Equal(t, open, gotOpen)

		start := Start{h.Last}
		kind, r, ok = Parse(start.AppendTo(nil))
		require.True(t, ok)
		require.Equal(t, KindStart, kind)
		gotStart, ok := ParseStart(r)
		require.True(t, ok)
		require.Equal(t, start, gotStart)
	})
}

func TestAnUnknownKindOrVersionIsRefused(t *testing.T) {
	for _, header := range [][]byte{nil, {1}, {0, version, 0}, {byte(KindTruncate), version, 0}, {byte(KindOpen), version + 1, 0}} {
		_, r, ok := Parse(header)
		require.False(t, ok, "%v", header)
		require.False(t, r.OK())
	}
}

func FuzzHeader(f *testing.F) {
	h := Records{Base: 7, Last: 9, Epoch: 3, Bytes: 200, Count: 3, MaxTime: 1000, MaxTimeAt: 8, Wall: 1001, ProducerID: 5, ProducerEpoch: 1, Sequence: 12}
	f.Add(h.AppendTo(nil))
	h.ProducerID = -1
	f.Add(h.AppendTo(nil))
	f.Add(Open{4}.AppendTo(nil))
	f.Add(Start{1 << 40}.AppendTo(nil))
	f.Fuzz(func(t *testing.T, header []byte) {
		kind, r, ok := Parse(header)
		if !ok {
			return
		}
		switch kind {
		case KindRecords:
			if h, ok := ParseRecords(r); ok {
				_, r, _ = Parse(h.AppendTo(nil))
				again, ok := ParseRecords(r)
				require.True(t, ok)
				require.Equal(t, h, again)
			}
		case KindOpen:
			ParseOpen(r)
		case KindStart:
			ParseStart(r)
		}
	})
}

// TestCountsFollowASlice holds the journal's counts against the entries themselves.
func TestCountsFollowASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := env.Seq(rapid.Uint64Range(1, 50).Draw(t, "first"))
		j, out := New(first), env.Outbox{}
		var entries []env.Entry // not cut
		written, synced := first-1, first-1
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				seq := j.Append(&out, env.Entry{Header: make([]byte, rapid.IntRange(2, 40).Draw(t, "header")), Payload: make([]byte, rapid.IntRange(0, 500).Draw(t, "payload"))})
				entries = append(entries, out.Journal[len(out.Journal)-1])
				require.Equal(t, seq, entries[len(entries)-1].Seq)
				require.Equal(t, j.Next(), seq+1)
			case 2:
				written = env.Seq(rapid.Uint64Range(uint64(written), uint64(j.Next()-1)).Draw(t, "written"))
				synced = env.Seq(rapid.Uint64Range(uint64(synced), uint64(written)).Draw(t, "synced"))
				j.Confirm(env.Journaled{Written: written, Synced: synced})
			case 3:
				cut := env.Seq(rapid.Uint64Range(uint64(first), uint64(synced+1)).Draw(t, "cut"))
				j.CutTo(&out, cut)
				for len(entries) > 0 && entries[0].Seq < cut {
					entries = entries[1:]
				}
				require.Panics(t, func() { j.CutTo(&out, synced+2) })
			}
			unwritten, behind := int64(0), int64(0)
			for i := range entries {
				behind += entries[i].Size()
				if entries[i].Seq > written {
					unwritten += entries[i].Size()
				}
			}
			require.Equal(t, unwritten, j.Unwritten())
			require.Equal(t, behind, j.Behind())
			require.Equal(t, []env.Seq{written, synced}, []env.Seq{j.Written(), j.Synced()})
			j.CheckInvariants()
		}
		for i := 1; i < len(out.Cuts); i++ {
			require.Greater(t, out.Cuts[i], out.Cuts[i-1])
		}
	})
}

func TestSurvivorsAreCountedAndSeqGoesOnBehindThem(t *testing.T) {
	j := New(1)
	var sum int64
	for _, seq := range []env.Seq{5, 6, 9, 10} { // 7 and 8 are damaged
		e := env.Entry{Seq: seq, Header: make([]byte, seq)}
		j.Survived(&e)
		sum += e.Size()
		j.CheckInvariants()
	}
	require.Equal(t, sum, j.Behind())
	require.Zero(t, j.Unwritten())
	require.Equal(t, []env.Seq{5, 10, 10}, []env.Seq{j.Cut(), j.Written(), j.Synced()})
	j.Skip(14)
	out := env.Outbox{}
	require.Equal(t, env.Seq(15), j.Append(&out, env.Entry{}))
	j.CutTo(&out, 10)
	require.Equal(t, int64(env.EntryOverhead+10+env.EntryOverhead), j.Behind())
	e := env.Entry{Seq: 3}
	require.Panics(t, func() { j.Survived(&e) })
	j.CheckInvariants()
}

func TestHeadersDoNotShareBytes(t *testing.T) {
	j := New(1)
	var headers [][]byte
	for i := range int64(2000) {
		h := Start{Start: i}
		header := j.Keep(h.AppendTo(j.Header()))
		headers = append(headers, header)
		_ = append(header, 0xff) // whoever appends gets room of his own
	}
	for i, header := range headers {
		_, r, ok := Parse(header)
		require.True(t, ok)
		h, ok := ParseStart(r)
		require.True(t, ok)
		require.EqualValues(t, i, h.Start)
	}
}
