package node

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClientsCanNotTakeTheDisksDescriptors(t *testing.T) {
	for _, c := range []struct {
		limit           int64
		wanted          int
		segments, conns int
	}{
		{1 << 20, 10_000, 512, 10_000},
		{10_640, 10_000, 512, 10_000},
		{10_639, 10_000, 512, 9_999},
		{1024, 10_000, 256, 640},
		{256, 10_000, 64, 64},
		{100, 10_000, 25, 1},
	} {
		segments, conns := shareDescriptors(c.limit, c.wanted)
		require.Equal(t, c.segments, segments, "%+v", c)
		require.Equal(t, c.conns, conns, "%+v", c)
	}
}
