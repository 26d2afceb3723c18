package broker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
)

// A produce that is larger than the tails budget is let in when there are no
// tails, so it must not wait for small tails that nobody stores.
func TestAProduceLargerThanTheTailsBudgetDoesNotWaitForEver(t *testing.T) {
	h := newHot(t, 100)
	h.produce(h.request())
	h.s.b.lim.Tails = 100 * h.s.b.tails // one small tail is no reason to store anything
	h.out.Reset()

	r := h.request()
	r.N, r.Size = h.n+1, int(h.s.b.lim.Tails)+1
	h.s.b.Step(h.s.now, r, &h.out)
	require.Len(t, h.s.b.lobby.queue, 1, "it waits for room")
	for range 10 { // the disk does what it is asked, and says so
		var last env.Seq
		for _, e := range h.out.Journal {
			last = e.Seq
		}
		stores := append([]env.Store(nil), h.out.Stores...)
		h.out.Reset()
		if last > 0 {
			h.s.b.Step(h.s.now, env.Journaled{Written: last, Synced: last}, &h.out)
		}
		for _, s := range stores {
			end := s.At
			for _, d := range s.Data {
				end += int64(len(d))
			}
			h.s.b.Step(h.s.now, env.Stored{Segment: s.Segment, Written: end, Synced: end}, &h.out)
		}
		if len(h.out.Replies) > 0 {
			require.Equal(t, r.N, h.out.Replies[0].N)
			return
		}
	}
	t.Fatalf("the produce still waits: %d in the queue, %d bytes of tails", len(h.s.b.lobby.queue), h.s.b.tails)
}
