package node

import (
	"testing"

	"github.com/stretchr/testify/require"
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
