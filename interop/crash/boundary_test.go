package crash

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/orrery-log/orrery/interop/powerfs"
	"github.com/orrery-log/orrery/interop/process"
)

// TestEachRequestToTheDiskMayBeTheLast cuts the power at the first, the second, …
// request by which a node changes a new directory: while it formats it, creates a
// topic, opens a segment, rolls to the next, rolls the journal. What was answered
// by then has to be there. In a short run it takes some of the requests.
func TestEachRequestToTheDiskMayBeTheLast(t *testing.T) {
	rng := drawn(t)
	step := 1
	if *powerRounds < 100 {
		step = 4
	}
	cuts, acknowledged := 0, int64(0)
	for n := 1 + rng.IntN(step); ; n += step {
		m := newMachine(t, rng, process.Binary(t), append([]string{"orrery.store.bytes=1", "orrery.store.ms=1"}, small[2:]...)...)
		created, acked, reached := workUntil(t, m, n, rng.Uint64())
		m.start()
		require.NotContains(t, m.node.Stderr(), "damaged", "the cut at request %d", n)
		if created {
			rs, refused := m.probe().readBack("boundary", 0, -1)
			require.Empty(t, refused)
			require.GreaterOrEqual(t, int64(len(rs)), acked, "the cut at request %d: %s", n, m.node.Stderr())
			for i, r := range rs {
				require.Equal(t, uint64(i+1), r.ID)
				require.EqualValues(t, i, r.Offset)
			}
		}
		m.end()
		acknowledged += acked
		if !reached {
			break
		}
		cuts++
	}
	fmt.Printf("power: cut at %d requests to the disk, one in a new directory each: all of %d answered records were there\n", cuts, acknowledged)
	require.Greater(t, cuts, 10)
}

// workUntil runs a node that is asked for a topic and for records until its n-th
// request to the disk, and takes the power away there. reached: there was one.
func workUntil(t *testing.T, m *machine, n int, seed uint64) (created bool, acked int64, reached bool) {
	t.Helper()
	at := m.disk.Hang(powerfs.OpAny, "", n)
	node := m.launch()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var isCreated atomic.Bool
	var ackedSoFar atomic.Int64
	done := make(chan struct{})
	c := m.client(kgo.MaxBufferedRecords(1))
	go func() {
		defer close(done)
		for {
			_, err := kadm.NewClient(c).CreateTopic(ctx, 1, 1, nil, "boundary")
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return
			}
			time.Sleep(5 * time.Millisecond) // it is not ready yet
		}
		isCreated.Store(true)
		for id := range uint64(9) {
			value := make([]byte, 600_000)
			binary.BigEndian.PutUint64(value, id+1)
			if c.ProduceSync(ctx, &kgo.Record{Topic: "boundary", Value: value}).FirstErr() != nil {
				return
			}
			ackedSoFar.Add(1)
		}
	}()
	select {
	case <-at.Met():
		reached = true
	case <-done:
	}
	m.disk.PowerOff(func() {
		created, acked = isCreated.Load(), ackedSoFar.Load()
		require.NoError(t, node.Process.Signal(syscall.SIGKILL))
	})
	_ = node.Wait() // it was killed
	cancel()
	c.Close() // a record that was sent does not end with its context
	<-done
	_, err := m.disk.PowerOn(seed)
	require.NoError(t, err)
	return created, acked, reached
}
