package log

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orrery-log/orrery/core/env"
)

// confirm lets the disk do all that it was asked.
func (w *world) confirm() {
	w.act()
	w.d.written, w.d.synced = w.d.last(), w.d.last()
	w.j.Confirm(env.Journaled{Written: w.d.written, Synced: w.d.synced})
	w.l.Journaled(w.d.written, w.d.synced)
	w.l.Pump(&w.j, &w.out, w.now)
	w.act()
	for _, id := range w.d.order {
		if f := w.d.files[id]; f != nil {
			f.written, f.synced = int64(len(f.data)), int64(len(f.data))
			w.l.Stored(&w.j, &w.out, w.now, env.Stored{Segment: id, Written: f.written, Synced: f.synced})
		}
	}
	w.act()
}

// TestALogNeverHoldsTheCutForEver: whatever a log has been through, releasing it
// again and again lets every entry go that was there before.
func TestALogNeverHoldsTheCutForEver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.l.carryMax = rapid.Int64Range(0, 3000).Draw(t, "carry at most")
		for range rapid.IntRange(1, 3).Draw(t, "lives") {
			for range rapid.IntRange(1, 100).Draw(t, "steps") {
				w.step()
			}
			head := w.j.Next()
			for rounds := 0; w.l.NeedSeq() != 0 && w.l.NeedSeq() < head; rounds++ {
				require.Less(t, rounds, 1000, "needs %d of what was before %d: %v", w.l.NeedSeq(), head, w.l)
				w.l.Release(&w.j, &w.out, w.now, rapid.Bool().Draw(t, "may carry"))
				w.confirm()
				w.j.CutTo(&w.out, min(max(w.l.NeedSeq(), w.j.Cut()), w.j.Synced()+1))
			}
			w.readAll()
			w.crash()
		}
	})
}
