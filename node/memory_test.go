package node

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/net"
)

func TestHeapGrowsToTheQuietSizeOrDoubles(t *testing.T) {
	for live, grown := range map[int64]int64{
		0: quietHeap, 1 << 20: quietHeap, 10 << 20: quietHeap, quietHeap / 2: quietHeap,
		quietHeap: quietHeap, 4 * quietHeap: 4 * quietHeap,
	} {
		got := max(live, quietHeap/128) * quietPercent(live) / 100
		require.InDelta(t, grown, got, float64(grown)/20, "%d lives", live)
	}
}

func TestMemoryGoesBackOnceWhenTrafficHasEnded(t *testing.T) {
	var now net.Stats
	freed := 0
	r := rest{stats: func() net.Stats { return now }, free: func() { freed++ }}
	for _, step := range []struct {
		traffic int64
		freed   int
	}{{0, 1}, {0, 1}, {quietBytes, 1}, {10 * quietBytes, 1}, {quietBytes - 1, 2}, {100, 2}, {quietBytes, 2}, {0, 3}} {
		now.Received += step.traffic / 2
		now.Sent += step.traffic - step.traffic/2
		r.look()
		require.Equal(t, step.freed, freed, "%+v", step)
	}
}
