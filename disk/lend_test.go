package disk

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/wal"
)

// If this fails the library has changed: see whether it still needs a buffer.
func TestTheLibraryWritesIntoTheBufferThatItIsLent(t *testing.T) {
	const size = 100_000
	log, err := wal.Open(quickDir(t), &wal.Options{NoSync: true, SegmentSize: size, SegmentCacheSize: 1, AllowEmpty: true})
	require.NoError(t, err)
	defer log.Close()
	var lender tails
	require.True(t, lender.lend(log, size, size))
	written, rolls := 0, 0
	for i := range uint64(70) {
		e := entry(1, 1, 9_000)
		require.NoError(t, log.Write(i+1, e.Payload))
		if written += 2 + 9_000; written >= size {
			written, rolls = 0, rolls+1
			require.True(t, lender.lend(log, size, size))
		} else {
			require.False(t, lender.lend(log, size, size), "that one is in use")
		}
		lent := lender.buffers[1-lender.turn]
		require.Same(t, &lent[:1][0], &(*tailBuffer(log))[:1][0], "its bytes are elsewhere")
	}
	require.Greater(t, rolls, 4)
	for i := range uint64(70) { // it may still be read
		got, err := log.Read(i + 1)
		require.NoError(t, err)
		require.Equal(t, entry(1, 1, 9_000).Payload, got)
	}
}
