package crash

import (
	"fmt"
	"hash/crc32"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/interop/powerfs"
	"github.com/orrery-log/orrery/interop/process"
	"github.com/orrery-log/orrery/linearizability"
)

func castagnoli(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// TestADiskThatFailsEndsTheProcess lets a request of each kind fail under load, and
// after each a new process has to have everything that was acknowledged. The page
// cache is gone then, and every other time the power too.
func TestADiskThatFailsEndsTheProcess(t *testing.T) {
	rng := drawn(t)
	m := newMachine(t, rng, process.Binary(t), small...)
	m.start()
	m.topic("trouble", 3)
	l, err := begin(m.o.Listen, "trouble", 3, 2, true)
	require.NoError(t, err)
	defer l.stop()
	troubles := []struct {
		op    powerfs.Op
		under string
		errno syscall.Errno
	}{
		{powerfs.OpWrite, "data/journal/", syscall.EIO},
		{powerfs.OpSync, "data/journal/", syscall.EIO},
		{powerfs.OpSyncDir, "data/journal", syscall.EIO},
		{powerfs.OpName, "data/journal/", syscall.EIO},
		{powerfs.OpWrite, "data/segments/", syscall.EIO},
		{powerfs.OpSync, "data/segments/", syscall.EIO},
		{powerfs.OpSyncDir, "data/segments", syscall.EIO},
		{powerfs.OpName, "data/segments/", syscall.EIO},
		{powerfs.OpWrite, "data/journal/", syscall.ENOSPC},
		{powerfs.OpWrite, "data/segments/", syscall.ENOSPC},
	}
	slowest := time.Duration(0)
	for i, x := range troubles {
		require.NoError(t, progress(l, m.node))
		t.Logf("the next %v under %s fails with %v", x.op, x.under, x.errno)
		times := 1
		if x.op == powerfs.OpWrite {
			times = -1
		}
		fault := m.disk.Fail(x.op, x.under, 1+rng.IntN(3), times, x.errno)
		select {
		case <-fault.Met():
		case <-time.After(20 * time.Second):
			require.Fail(t, "the fault was never met", "%+v", x)
		}
		met := time.Now()
		code := m.exitCode(20 * time.Second)
		slowest = max(slowest, time.Since(met))
		t.Logf("it ended after %v", time.Since(met).Round(time.Millisecond))
		said := m.node.Stderr()
		require.Equal(t, 1, code, "%+v\n%s", x, said)
		require.Contains(t, lastLine(said), x.errno.Error(), "the last line has to say what ended it (%+v)", x)
		if i%2 == 0 {
			fault.End()
			require.NoError(t, m.disk.Remount())
		} else {
			_, err := m.disk.PowerCut(rng.Uint64())
			require.NoError(t, err)
		}
		m.start()
	}
	require.NoError(t, l.end())
	v := judge(t, l)
	fmt.Printf("trouble: %d kinds of failure ended %d processes, the slowest after %v, %d records acknowledged: %v\n", len(troubles), len(troubles), slowest.Round(time.Millisecond), l.acked.Load(), v.String())
	require.Equal(t, linearizability.Holds, v.Judgement(), "%s", v.String())
	require.Empty(t, l.errors)
	require.NoError(t, m.node.Stop(20*time.Second))
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

const soon = 3 * time.Second // for an answer that must not wait for the disk

// fill produces to topic full, which has so many records, until it is refused, and
// gives how many it has then.
func fill(t *testing.T, m *machine, p *probe, written int64) int64 {
	t.Helper()
	for {
		offset, code, err := p.produce("full", 0, uint64(written+1), 100_000, -1, 10*time.Second, 20*time.Second)
		if err != nil {
			_ = m.node.Wait(soon)
			require.NoError(t, err, "after %d records, %d bytes are free: %s", written, m.disk.Room(), m.node.Stderr())
		}
		if code != 0 {
			require.Equal(t, "KAFKA_STORAGE_ERROR", codeName(code))
			return written
		}
		require.Equal(t, written, offset)
		written++
		require.Less(t, written, int64(100_000), "the disk never fills")
	}
}

func requireAll(t *testing.T, p *probe, written int64) {
	t.Helper()
	rs, refused := p.readBack("full", 0, -1)
	require.Empty(t, refused)
	require.Len(t, rs, int(written))
	for i, r := range rs {
		require.Equal(t, uint64(i+1), r.ID)
		require.EqualValues(t, i, r.Offset)
	}
}

// awaitRoom produces until it is accepted.
func awaitRoom(t *testing.T, p *probe, written int64) int64 {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, code, err := p.produce("full", 0, uint64(written+1), 8, -1, 5*time.Second, 10*time.Second)
		require.NoError(t, err)
		if code == 0 {
			return written + 1
		}
		require.Equal(t, "KAFKA_STORAGE_ERROR", codeName(code))
		require.True(t, time.Now().Before(deadline), "there is space, and produces are still refused")
	}
}

func TestAFullDiskRefusesProducesAndNothingElse(t *testing.T) {
	rng := drawn(t)
	m := newMachine(t, rng, process.Binary(t), append([]string{"orrery.reserve.bytes=33554432"}, small...)...)
	m.disk.Size(96 << 20)
	m.start()
	m.topic("full", 1)
	m.topic("other", 1)
	p := m.probe()
	written := fill(t, m, p, 0)
	require.Contains(t, m.node.Stderr(), "free space is below the reserve")
	alive := func() {
		t.Helper()
		requireAll(t, p, written)
		_, err := p.ask(soon, kmsg.NewPtrMetadataRequest())
		require.NoError(t, err)
		_, code, err := p.produce("full", 0, 1, 8, 1, soon, soon)
		require.NoError(t, err)
		require.Equal(t, "KAFKA_STORAGE_ERROR", codeName(code), "with acks=1 too")
		gone, err := m.node.Exited()
		require.False(t, gone, "%v\n%s", err, m.node.Stderr())
	}
	alive()

	// A restart in that state, after a clean stop, a kill and a loss of power.
	require.NoError(t, m.node.Stop(20*time.Second), "%s", m.node.Stderr())
	m.start()
	alive()
	m.node.Kill()
	m.start()
	alive()
	m.cut(rng.Uint64(), func() {})
	m.start()
	alive()

	// More room: by a larger disk, and by deleting a topic.
	m.disk.Size(128 << 20)
	written = awaitRoom(t, p, written)
	written = fill(t, m, p, written)
	alive()
	refusedTopic := m.tryTopic("new", 1)
	require.ErrorContains(t, refusedTopic, "KAFKA_STORAGE_ERROR", "what appends is refused")
	m.deleteTopic("full")
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, code, err := p.produce("other", 0, 1, 8, -1, 5*time.Second, 10*time.Second)
		require.NoError(t, err, "%s", m.node.Stderr())
		if code == 0 {
			break
		}
		require.True(t, time.Now().Before(deadline), "a deleted topic gives no room back: %s", m.node.Stderr())
	}
	fmt.Printf("trouble: a full disk refused produces after %d records of 100 kB, and took them again\n", written)
}

// TestAHungDiskDelaysProducesAndNothingElse hangs each part of the disk under its
// producers. Whoever does not need it is answered, and when it is back all goes on.
func TestAHungDiskDelaysProducesAndNothingElse(t *testing.T) {
	for _, x := range []struct {
		name  string
		op    powerfs.Op
		under string
	}{
		{"fsync of the journal", powerfs.OpSync, "data/journal/"},
		{"write of the journal", powerfs.OpWrite, "data/journal/"},
		{"all of the disk", powerfs.OpAny, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			m := newMachine(t, drawn(t), process.Binary(t), append([]string{"orrery.unwritten.max.bytes=2097152"}, small...)...)
			m.start()
			m.topic("hung", 2)
			p, q := m.probe(), m.probe()
			const before = 60 // some of them in segments, some in memory
			for i := range int64(before) {
				offset, code, err := p.produce("hung", 0, uint64(i+1), 20_000, -1, soon, soon)
				require.NoError(t, err)
				require.Zero(t, code)
				require.Equal(t, i, offset)
			}
			hang := m.disk.Hang(x.op, x.under, 1)

			// 4 MiB against a budget of 2: some are appended and not synced, some wait at the door.
			type answer struct {
				offset int64
				code   int16
				err    error
			}
			answers := make(chan answer, 40)
			for range 40 {
				c := m.probe()
				go func() {
					offset, code, err := c.produce("hung", 1, 7, 100_000, -1, time.Second, 20*time.Second)
					answers <- answer{offset, code, err}
				}()
			}
			<-hang.Met()
			began := time.Now()
			for range 20 {
				_, err := q.ask(soon, kmsg.NewPtrMetadataRequest())
				require.NoError(t, err)
				rs, code, hw, err := q.fetch("hung", 0, 0, soon)
				require.NoError(t, err)
				require.Zero(t, code)
				require.NotEmpty(t, rs)
				require.EqualValues(t, before, hw)
			}
			rs, refused := q.readBack("hung", 0, -1)
			require.Empty(t, refused)
			require.Len(t, rs, before)
			_, err := q.ask(soon, kmsg.NewPtrApiVersionsRequest())
			require.NoError(t, err)
			took := time.Since(began)
			timedOut := 0
			for range 40 {
				a := <-answers
				require.NoError(t, a.err, "%s", m.node.Stderr())
				require.Equal(t, "REQUEST_TIMED_OUT", codeName(a.code))
				timedOut++
			}
			gone, err := m.node.Exited()
			require.False(t, gone, "%v\n%s", err, m.node.Stderr())

			hang.End()
			offset, code, err := p.produce("hung", 0, before+1, 8, -1, 10*time.Second, 20*time.Second)
			require.NoError(t, err, "%s", m.node.Stderr())
			require.Zero(t, code)
			require.EqualValues(t, before, offset)
			rs, refused = p.readBack("hung", 0, -1)
			require.Empty(t, refused)
			require.Len(t, rs, before+1)
			fmt.Printf("trouble: while %s hung, %d produces got REQUEST_TIMED_OUT, and 20 Metadata and 24 fetches took %v\n", x.name, timedOut, took.Round(time.Millisecond))
			require.NoError(t, m.node.Stop(20*time.Second))
		})
	}
}

// TestHungSegmentsCostNothingUntilTheBudgetsAreFull hangs the segments' files: the
// journal still takes records and they are acknowledged and read, from memory, until
// the tails or the journal have no more room.
func TestHungSegmentsCostNothingUntilTheBudgetsAreFull(t *testing.T) {
	for _, op := range []powerfs.Op{powerfs.OpWrite, powerfs.OpSync, powerfs.OpName} {
		t.Run(op.String(), func(t *testing.T) {
			m := newMachine(t, drawn(t), process.Binary(t), small...)
			m.start()
			m.topic("full", 1)
			p := m.probe()
			hang := m.disk.Hang(op, "data/segments/", 1)
			n := int64(0)
			for {
				offset, code, err := p.produce("full", 0, uint64(n+1), 100_000, -1, time.Second, 20*time.Second)
				require.NoError(t, err, "%s", m.node.Stderr())
				if code != 0 {
					require.Equal(t, "REQUEST_TIMED_OUT", codeName(code))
					break
				}
				require.Equal(t, n, offset)
				n++
				require.Less(t, n, int64(1000), "no budget ends this")
			}
			require.GreaterOrEqual(t, n, int64(20), "the tails have a budget of 4 MiB")
			requireAll(t, p, n)
			gone, err := m.node.Exited()
			require.False(t, gone, "%v\n%s", err, m.node.Stderr())
			hang.End()
			offset, code, err := p.produce("full", 0, uint64(n+1), 100, -1, 10*time.Second, 20*time.Second)
			require.NoError(t, err)
			require.Zero(t, code)
			require.Equal(t, n, offset, "what was refused must not be there")
			requireAll(t, p, n+1)
			fmt.Printf("trouble: with each %v of segments hung, %d produces of 100 kB were acknowledged before one got REQUEST_TIMED_OUT\n", op, n)
			require.NoError(t, m.node.Stop(20*time.Second))
		})
	}
}

func TestASlowDiskDelaysProducesAndNothingElse(t *testing.T) {
	const slow = 300 * time.Millisecond
	m := newMachine(t, drawn(t), process.Binary(t), small...)
	m.start()
	m.topic("slow", 1)
	p, q := m.probe(), m.probe()
	_, code, err := p.produce("slow", 0, 1, 8, -1, soon, soon)
	require.NoError(t, err)
	require.Zero(t, code)
	m.disk.Slow(powerfs.OpSync, "", slow)
	done := make(chan time.Duration)
	go func() {
		defer close(done)
		for i := range uint64(5) {
			began := time.Now()
			if _, code, err := p.produce("slow", 0, i+2, 1000, -1, 10*time.Second, 20*time.Second); err != nil || code != 0 {
				t.Errorf("a produce on a slow disk: code %d, %v", code, err)
				return
			}
			done <- time.Since(began)
		}
	}()
	var worst time.Duration
	asked, late, answered := 0, 0, 0
	for open := true; open; {
		select {
		case took, more := <-done:
			if open = more; more {
				answered++
				require.GreaterOrEqual(t, took, slow, "answered before it was synced")
			}
		default:
			began := time.Now()
			_, err := q.ask(soon, kmsg.NewPtrMetadataRequest())
			require.NoError(t, err)
			_, code, _, err := q.fetch("slow", 0, 0, soon)
			require.NoError(t, err)
			require.Zero(t, code)
			took := time.Since(began)
			worst = max(worst, took)
			asked++
			if took >= slow {
				late++
			}
		}
	}
	require.Equal(t, 5, answered)
	// Whoever waits for the disk takes so long each time; a busy machine now and then.
	require.LessOrEqual(t, late, asked/100, "somebody waited for the disk who need not: %d of %d, the worst %v", late, asked, worst)
	require.Greater(t, asked, 100)
	fmt.Printf("trouble: with fsyncs of %v, %d times Metadata and Fetch took at most %v\n", slow, asked, worst.Round(time.Millisecond))
}

// TestTheFirstAcknowledgementInANewDirectorySurvives cuts the power at the moment
// of the first answer that relies on a new directory, a new topic, a new segment.
func TestTheFirstAcknowledgementInANewDirectorySurvives(t *testing.T) {
	rng := drawn(t)
	rounds := max(*powerRounds*2, 10)
	lost := powerfs.Survival{}
	for range rounds {
		m := newMachine(t, rng, process.Binary(t), append([]string{"orrery.store.bytes=1", "orrery.store.ms=1"}, small[2:]...)...)
		m.start()
		topic := fmt.Sprintf("first-%d", rng.IntN(1000))
		m.topic(topic, 2)
		p := m.probe()
		cluster := m.cluster(p)
		records := 1 + rng.IntN(3)
		for i := range records {
			_, code, err := p.produce(topic, 1, uint64(i+1), 100, -1, soon, soon)
			require.NoError(t, err)
			require.Zero(t, code)
		}
		s := m.cut(rng.Uint64(), func() {})
		lost.Add(s)
		m.start()
		require.NotContains(t, m.node.Stderr(), "damaged")
		require.Equal(t, cluster, m.cluster(p), "the cluster's id is another after a loss of power")
		rs, refused := p.readBack(topic, 1, -1)
		require.Empty(t, refused)
		require.Len(t, rs, records, "%v\n%v\n%s", s, m.disk.Files(), m.node.Stderr())
		m.end()
	}
	fmt.Printf("power: the first records in %d new directories survived; of what was not synced: %v\n", rounds, lost)
}

// cluster is the cluster's id, which the node has drawn and written down.
func (m *machine) cluster(p *probe) string {
	m.t.Helper()
	res, err := p.ask(soon, kmsg.NewPtrMetadataRequest())
	require.NoError(m.t, err)
	id := res.(*kmsg.MetadataResponse).ClusterID
	require.NotNil(m.t, id)
	return *id
}
