package broker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
)

func TestIdleLogsWithLittleGetNoFileHoweverFullTheJournalIs(t *testing.T) {
	const journal, idle = 1 << 20, 200
	r := newRig(t, func(l *env.Limits) { l.Journal, l.StoreBytes = journal, 64<<10 })
	r.create("idle", idle)
	r.create("busy", 1)
	for p := range idle {
		r.produce(1, "idle", int32(p), -1, []byte("one"))
	}
	r.settle()
	value := make([]byte, 50_000)
	highest := int64(0)
	for range 20 {
		// The busy log's segment is synced late: meanwhile the journal fills.
		for r.b.journal.Behind() < journal*7/8 {
			r.produce(1, "busy", 0, -1, value)
			r.journaled(r.asked, r.asked)
		}
		r.settle()
		highest = max(highest, r.b.journal.Behind())
		require.Less(t, r.b.journal.Behind(), int64(journal/2+journal/8), "the cut follows")
	}
	stored := map[string]int{}
	for id := range r.files {
		slot, ok := r.b.find(id.Log())
		require.True(t, ok)
		stored[r.b.parts[slot].topic]++
	}
	require.Zero(t, stored["idle"])
	require.NotZero(t, stored["busy"])
}
