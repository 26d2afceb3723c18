package log

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
)

// settle lets everything that was asked of the disk happen, until nothing is in
// memory that a segment could have.
func (w *world) settle() {
	for rounds := 0; rounds < 300 && (rounds < 2 || w.l.TailBytes() > 0 || w.l.Storing()); rounds++ {
		w.l.Store(&w.j, &w.out, w.now)
		w.act()
		w.d.written, w.d.synced = w.d.last(), w.d.last()
		w.j.Confirm(env.Journaled{Written: w.d.written, Synced: w.d.synced})
		w.l.Journaled(w.d.written, w.d.synced)
		w.l.Pump(&w.j, &w.out, w.now)
		w.act()
		for _, id := range w.d.order {
			f := w.d.files[id]
			f.written, f.synced = int64(len(f.data)), int64(len(f.data))
			w.l.Stored(&w.j, &w.out, w.now, env.Stored{Segment: id, Written: f.written, Synced: f.synced})
		}
		w.act()
	}
	require.Zero(w.t, w.l.TailBytes())
}

// readAt reads one batch from the files as they are now.
func (w *world) readAt(offset int64) Plan {
	p := w.l.Read(&w.cache, offset, w.end(), 1, true)
	for steps := 0; p.State == Load; steps++ {
		require.Less(w.t, steps, 10, "a read does not end")
		p = w.l.Loaded(&w.cache, p, w.d.read(p), false, offset, w.end(), 1, true)
	}
	return p
}

func TestAFlippedBitIsNeverServedAndCostsItsRunAtMost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(20, 150).Draw(t, "steps") {
			w.step()
		}
		w.settle()
		if len(w.l.segments) == 0 {
			t.Skip("nothing is left to be damaged")
		}
		w.cache = NewIndexCache(1000)
		s := &w.l.segments[rapid.IntRange(0, len(w.l.segments)-1).Draw(t, "segment")]
		f := w.d.files[s.id]
		bit := rapid.IntRange(0, len(f.data)*8-1).Draw(t, "bit")
		hit := int64(bit / 8)
		runFrom, runTo := int64(-1), int64(-1)
		if hit < s.size {
			runs := s.index
			if len(runs) == 0 {
				foot, ok := parseFooter(f.data[s.size:])
				require.True(t, ok)
				runs = foot.runs
			}
			for i := range runs {
				if runs[i].at <= hit {
					runFrom, runTo = runs[i].base, s.end
					if i+1 < len(runs) {
						runTo = runs[i+1].base
					}
				}
			}
		}
		f.data[bit/8] ^= 1 << (bit % 8)
		at := int64(0)
		for _, b := range w.batches {
			if b.end <= s.from || b.end <= w.start && w.l.segmentOf(b.base) == len(w.l.segments) {
				continue
			}
			inside := b.base >= s.from && b.end <= s.end
			touched := inside && hit >= at && hit < at+int64(len(b.bytes))
			if inside {
				at += int64(len(b.bytes))
			}
			if b.end <= w.start {
				continue
			}
			p := w.readAt(max(b.base, w.start))
			if touched {
				require.Equal(t, Damaged, p.State, "bit %d of %v", bit, w.l)
				continue
			}
			if p.State == Damaged && b.base >= runFrom && b.end <= runTo {
				continue // it can not be found behind a batch whose length is wrong
			}
			require.Equal(t, Ready, p.State, "batch %d, bit %d of %v", b.base, bit, w.l)
			require.Equal(t, b.bytes, string(p.Data))
		}
		w.acceptsAndStepsOver(runFrom, runTo)
	})
}

// acceptsAndStepsOver has the loss accepted: a reader then comes from start to
// end, meets all but what is in the damaged run, and a restart knows the gap.
func (w *world) acceptsAndStepsOver(runFrom, runTo int64) {
	w.l.Accept(&w.j, &w.out)
	read := func() {
		from := w.start
		for _, b := range w.batches {
			if b.end <= w.start {
				continue
			}
			p := w.readAt(max(from, b.base))
			if p.State == Ready && string(p.Data) == b.bytes {
				from = b.end
				continue
			}
			require.True(w.t, b.base >= runFrom && b.end <= runTo, "batch %d is sound: %v in %v", b.base, p.State, w.l)
			require.NotEqual(w.t, Damaged, p.State)
		}
		q := TimeQuery{Time: math.MinInt64, Limit: w.end()}
		for p := w.l.FindTime(&w.cache, &q); p.State != Empty; {
			require.NotEqual(w.t, Damaged, p.State)
			if p.State == Load {
				p = w.l.LoadedTime(&w.cache, &q, p, w.d.read(p), false)
				continue
			}
			q.From = record.Batch(p.Data).End()
			p = w.l.FindTime(&w.cache, &q)
		}
	}
	read()
	w.l.Pump(&w.j, &w.out, w.now)
	w.act()
	w.settle()
	losses := w.l.Losses()
	w.damaged = true
	w.l, w.j = w.d.recover(testID, w.s, w.lim, w.now)
	w.cache = NewIndexCache(1000)
	require.Equal(w.t, losses, w.l.Losses())
	require.True(w.t, w.l.Sound())
	read()
}

func TestAShortFileIsDamagedNotWaitedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(20, 100).Draw(t, "steps") {
			w.step()
		}
		w.settle()
		if len(w.l.segments) == 0 {
			t.Skip("nothing is left to be damaged")
		}
		w.cache = NewIndexCache(1000)
		s := &w.l.segments[rapid.IntRange(0, len(w.l.segments)-1).Draw(t, "segment")]
		f := w.d.files[s.id]
		left := rapid.Int64Range(0, s.size-1).Draw(t, "left")
		at := int64(0)
		for _, b := range w.batches {
			if b.base < s.from || b.end > s.end || b.end <= w.start {
				if b.base >= s.from && b.end <= s.end {
					at += int64(len(b.bytes))
				}
				continue
			}
			at += int64(len(b.bytes))
			offset := max(b.base, w.start)
			p := w.l.Read(&w.cache, offset, w.end(), 1, true)
			for p.State == Load {
				data := f.data[min(p.At, left):min(p.At+int64(p.MaxBytes), left)]
				p = w.l.Loaded(&w.cache, p, data, false, offset, w.end(), 1, true)
			}
			if at <= left && p.State == Ready {
				require.Equal(t, b.bytes, string(p.Data))
			} else {
				require.Equal(t, Damaged, p.State)
			}
			require.True(t, at <= left || p.State == Damaged)
		}
	})
}
