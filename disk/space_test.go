package disk

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
)

// The ticker is an hour away: only what is written can make the disk look again.
func TestFreeSpaceIsToldWhileMuchIsWritten(t *testing.T) {
	r := newRig(t, Options{SpaceEvery: time.Hour})
	looked := func() bool { return r.d.space.allowance.Load() > leastLook }
	require.Eventually(t, looked, 10*time.Second, time.Millisecond, "the look at the start")
	r.d.space.allowance.Store(1)
	r.journal(r.entry(1, 100))
	require.Eventually(t, looked, 10*time.Second, time.Millisecond, "nobody looked")
}

func TestASixteenthOfTheFreeSpaceIsCauseToLookAgain(t *testing.T) {
	s := newSpace()
	looks := func(bytes int) bool {
		s.spend(&env.Outbox{Journal: []env.Entry{{Payload: make([]byte, bytes/2)}}, Stores: []env.Store{{Data: [][]byte{make([]byte, bytes/2)}}}})
		select {
		case <-s.look:
			return true
		default:
			return false
		}
	}
	s.looked(64 << 20)
	require.False(t, looks(3<<20))
	require.True(t, looks(1<<20))
	s.looked(64 << 20)
	require.False(t, looks(3<<20), "a look begins the count anew")
	s.looked(0)
	require.False(t, looks(leastLook/2), "a full disk is not looked at all the time")
	require.True(t, looks(leastLook))
}
