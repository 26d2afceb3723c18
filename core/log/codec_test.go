package log

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/journal"
	"github.com/orrery-log/orrery/core/record"
)

func drawFooter(t *rapid.T) footer {
	f := footer{from: rapid.Int64Range(0, 1<<40).Draw(t, "from")}
	base, at := f.from, int64(0)
	for range rapid.IntRange(1, 20).Draw(t, "runs") {
		end := base + rapid.Int64Range(1, 1000).Draw(t, "records")
		r := run{base: base, at: at, maxTime: rapid.Int64Range(-1, 1<<45).Draw(t, "time"), sum: rapid.Uint32().Draw(t, "sum")}
		r.maxTimeAt = rapid.Int64Range(base, end-1).Draw(t, "time at")
		f.runs = append(f.runs, r)
		base, at = end, at+rapid.Int64Range(61, 1<<20).Draw(t, "bytes")
	}
	f.end, f.size = base, at
	epoch, start := int32(0), f.from
	for start < f.end {
		epoch += rapid.Int32Range(1, 3).Draw(t, "epoch")
		f.epochs = append(f.epochs, epochStart{epoch, start})
		start += rapid.Int64Range(1, 5000).Draw(t, "epoch records")
	}
	return f
}

func TestFootersParseBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFooter(t)
		data := appendFooter(nil, &f)
		got, ok := parseFooter(data)
		require.True(t, ok)
		require.Equal(t, f, got)
	})
}

func TestAFlippedBitInAFooterIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFooter(t)
		data := appendFooter(nil, &f)
		bit := rapid.IntRange(0, len(data)*8-1).Draw(t, "bit")
		data[bit/8] ^= 1 << (bit % 8)
		_, ok := parseFooter(data)
		require.False(t, ok)
	})
}

func FuzzFooter(f *testing.F) {
	one := footer{from: 5, end: 30, size: 900, runs: []run{{5, 0, 1000, 7, 1}, {20, 500, -1, 20, 2}}, epochs: []epochStart{{1, 5}, {4, 11}}}
	data := appendFooter(nil, &one)
	f.Add(data)
	f.Add(data[:len(data)-footerTrailer])
	f.Fuzz(func(t *testing.T, data []byte) {
		parseFooter(data)
		// The checksum hides the parser behind it: give it one that fits.
		whole := appendTrailer(data[:len(data):len(data)], 0)
		if got, ok := parseFooter(whole); ok {
			again, ok := parseFooter(appendFooter(nil, &got))
			require.True(t, ok)
			require.Equal(t, got, again)
		}
	})
}

// FuzzCheckpoint: whatever a checkpoint's header holds, reading it does not
// panic, and what is accepted is written back the same.
func FuzzCheckpoint(f *testing.F) {
	w := newBench(plainSettings())
	for i := range int32(20) {
		w.append(batch(int64(i%3), 0, i/3, 1))
	}
	f.Add(w.l.appendCheckpoint(nil, w.l.storedEnd()))
	w.l.Store(&w.j, &w.out, w.now)
	w.j.Confirm(env.Journaled{Written: w.j.Next() - 1, Synced: w.j.Next() - 1})
	w.l.Journaled(w.j.Written(), w.j.Synced())
	w.l.Pump(&w.j, &w.out, w.now)
	for _, st := range w.out.Stores {
		n := st.At
		for _, d := range st.Data {
			n += int64(len(d))
		}
		w.l.Stored(&w.j, &w.out, w.now, env.Stored{Segment: st.Segment, Written: n, Synced: n})
	}
	w.l.damage.add(3, 5)
	f.Add(w.l.appendCheckpoint(nil, w.l.storedEnd()))
	f.Fuzz(func(t *testing.T, header []byte) {
		l, ok := Restore(testID, header, 9, testLimits())
		if !ok || l.removed != 0 {
			return
		}
		l.CheckWellFormed()
		for i := range l.segments { // as if all were on the medium
			s := &l.segments[i]
			s.written, s.synced = s.size+s.footer, s.size+s.footer
		}
		again, ok := Restore(testID, l.appendCheckpoint(nil, l.refilled), 9, testLimits())
		require.True(t, ok)
		require.Equal(t, l.Digest(0), again.Digest(0))
		require.Equal(t, len(l.segments), len(again.segments))
	})
}

// FuzzSegment: whatever a segment file holds, reading it ends, and what is
// answered is whole batches that are sound and in their place.
func FuzzSegment(f *testing.F) {
	b := newBench(plainSettings())
	var file []byte
	for i := range int32(4) {
		one := batch(int64(i%2), 0, i/2, 2)
		b.append(one)
		file = append(file, one...)
	}
	f.Add(file, int64(0), int32(1000), true)
	f.Add(file, int64(5), int32(1), false)
	f.Add(file[:len(file)-7], int64(7), int32(100), true)
	f.Fuzz(func(t *testing.T, file []byte, from int64, maxBytes int32, seal bool) {
		if len(file) == 0 || from < 0 || from >= 8 {
			return
		}
		file = slices.Clone(file)
		for rest := file; seal && len(rest) > 0; { // checksums that fit show what they hide
			one, more, ok := record.Next(rest)
			if !ok {
				break
			}
			one.Seal()
			rest = more
		}
		l := New(testID, plainSettings(), testLimits())
		l.end = 8
		l.epochs.assign(0, 0)
		s := newSegment(testID, 0, 1, open)
		s.end, s.size, s.written, s.synced = 8, int64(len(file)), int64(len(file)), int64(len(file))
		l.segments = append(l.segments, s)
		cache := NewIndexCache(1 << 20)
		for _, forgiving := range []bool{false, true} {
			l.forgiving = forgiving
			p := l.Read(&cache, from, 8, maxBytes, true)
			for steps := 0; p.State == Load; steps++ {
				if steps > 100 {
					t.Fatal("a read does not end")
				}
				p = l.Loaded(&cache, p, file[p.At:p.At+int64(p.MaxBytes)], false, from, 8, maxBytes, true)
			}
			end := int64(-1)
			for rest := p.Data; len(rest) > 0; {
				one, more, ok := record.Next(rest)
				require.True(t, ok && one.Sound() && (end < 0 || one.BaseOffset() == end))
				end, rest = one.End(), more
			}
			q := TimeQuery{Time: from, Limit: 8}
			tp := l.FindTime(&cache, &q)
			for steps := 0; tp.State == Load; steps++ {
				if steps > 100 {
					t.Fatal("a query does not end")
				}
				tp = l.LoadedTime(&cache, &q, tp, file[tp.At:tp.At+int64(tp.MaxBytes)], false)
			}
		}
		l.CheckWellFormed()
	})
}

// FuzzReplay: whatever the entries of a journal say, a log recovers from them
// without a panic, is well formed, and refuses appends when it makes no sense.
func FuzzReplay(f *testing.F) {
	_, entries := written(5)
	var script []byte
	add := func(header []byte) { script = append(append(script, byte(len(header))), header...) }
	for _, e := range entries {
		add(e.Header)
	}
	f.Add(script)
	add(journal.Open{Base: 2}.AppendTo(nil))
	add(journal.Start{Start: 3}.AppendTo(nil))
	add(entries[2].Header)
	add(journal.AppendKind(nil, journal.KindAccept))
	f.Add(script)
	add(journal.AppendKind(nil, journal.KindDrop))
	f.Add(script)
	f.Fuzz(func(t *testing.T, script []byte) {
		l, out := Begin(testID, testLimits()), env.Outbox{}
		j := journal.New(1)
		for seq := env.Seq(1); len(script) > 0; seq++ {
			n := min(int(script[0]), len(script)-1)
			e := env.Entry{Seq: seq, Header: script[1 : 1+n], Damaged: true}
			if kind, r, _ := journal.Parse(e.Header); kind == journal.KindRecords {
				if h, ok := journal.ParseRecords(r); ok && h.Last-h.Base < 100 {
					b := batch(h.ProducerID, h.ProducerEpoch, h.Sequence, int(h.Last-h.Base)+1)
					b.Place(h.Base, h.Epoch)
					e.Payload, e.Damaged = b, false
				}
			}
			j.Survived(&e)
			l.Replay(&out, e)
			script = script[1+n:]
			for _, tr := range out.Trims {
				l.Stored(&j, &out, env.Now{}, env.Stored{Segment: tr.Segment, Written: tr.End, Synced: tr.End})
			}
			out.Reset()
			l.Store(&j, &out, env.Now{})
			l.CheckWellFormed()
		}
		l.Recovered(env.Now{})
		l.Apply(plainSettings())
		l.Store(&j, &out, env.Now{})
		l.CheckWellFormed()
		if l.Removed() {
			return
		}
		cache := NewIndexCache(1000)
		for from, steps := l.Start(), 0; from < l.End() && steps < 300; steps++ {
			p := l.Read(&cache, from, l.End(), 1000, true)
			if p.State != Ready {
				break
			}
			from = record.Batch(p.Data).End()
		}
		again, ok := Restore(testID, l.appendCheckpoint(nil, l.storedEnd()), 1<<30, testLimits())
		require.True(t, ok)
		again.Apply(plainSettings())
		require.Equal(t, l.Digest(0), again.Digest(0))
	})
}
