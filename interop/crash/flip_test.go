package crash

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/interop/powerfs"
	"github.com/orrery-log/orrery/interop/process"
	"github.com/orrery-log/orrery/linearizability"
)

// written is what a load wrote: of each partition each offset's record.
type written []map[int64]linearizability.Record

// writeSome runs a load for a while on a fresh directory, and gives the disk after
// a kill and after a clean stop.
func writeSome(t *testing.T, m *machine) (all written, killed, stopped *powerfs.Image) {
	t.Helper()
	const partitions = 3
	m.start()
	m.topic("flip", partitions)
	l, err := begin(m.o.Listen, "flip", partitions, 2, false)
	require.NoError(t, err)
	defer l.stop()
	for l.acked.Load() < 3000 {
		require.NoError(t, progress(l, m.node))
	}
	require.NoError(t, l.end())
	m.node.Kill()
	killed = m.disk.Image()
	require.NoError(t, m.disk.Restore(killed)) // what the kernel holds was written back
	m.start()
	require.NoError(t, m.node.Stop(20*time.Second))
	stopped = m.disk.Image()
	v := judge(t, l)
	require.Equal(t, linearizability.Holds, v.Judgement(), "%s", v.String())
	require.Empty(t, l.errors)

	all = make(written, partitions)
	for p := range all {
		all[p] = map[int64]linearizability.Record{}
	}
	for _, o := range l.history.History().Operations() {
		if o.Op == linearizability.Produce {
			require.Equal(t, linearizability.OK, o.Outcome)
			r := o.Sent[0]
			r.Offset = o.Result.Base
			all[o.Partition][r.Offset] = r
		}
	}
	return all, killed, stopped
}

// place is where bits flip.
type place struct {
	path string
	at   int64
	bits byte
}

// drawPlace draws one: in any journal or segment file, and often in the last bytes
// of the journal, where damage may look like a tear.
func drawPlace(t *testing.T, rng *rand.Rand, disk *powerfs.FS) place {
	t.Helper()
	var journal, segments []string
	for _, path := range disk.Files() {
		data, _, err := disk.Bytes(path)
		require.NoError(t, err)
		switch {
		case len(data) == 0:
		case strings.HasPrefix(path, "data/journal/"):
			journal = append(journal, path)
		case strings.HasPrefix(path, "data/segments/"):
			segments = append(segments, path)
		}
	}
	require.NotEmpty(t, journal)
	require.NotEmpty(t, segments)
	x := place{bits: 1 << rng.IntN(8)}
	if rng.IntN(4) == 0 {
		x.bits = byte(1 + rng.IntN(255))
	}
	last := rng.IntN(3) == 0
	switch {
	case last:
		x.path = journal[len(journal)-1]
	case rng.IntN(2) == 0:
		x.path = journal[rng.IntN(len(journal))]
	default:
		x.path = segments[rng.IntN(len(segments))]
	}
	data, _, err := disk.Bytes(x.path)
	require.NoError(t, err)
	x.at = rng.Int64N(int64(len(data)))
	if last {
		x.at = int64(len(data)) - 1 - rng.Int64N(min(int64(len(data)), 4096))
	}
	return x
}

// flipTally counts what became of the flips.
type flipTally struct {
	flips, costly, found, torn, refused, harmless int
	missing                                       int
	silent                                        int // records are refused, and only disk inspect says why
}

func (y flipTally) String() string {
	return fmt.Sprintf("%d flips: %d were found (%d of them cost records, %d in all, %d without a log line; %d stopped the start), %d cut as a tear, %d cost nothing and are needed by nobody",
		y.flips, y.found, y.costly, y.missing, y.silent, y.refused, y.torn, y.harmless)
}

// TestFlippedBitsAreFoundAndNeverServed flips bits of what is on the medium. What
// is read afterwards is what was written, or it is refused and the damage is named,
// or it was in the last group of a journal that nobody closed: cut, with a line.
func TestFlippedBitsAreFoundAndNeverServed(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a node for each flip; run it without -short")
	}
	rng := drawn(t)
	m := newMachine(t, rng, process.Binary(t), small...)
	all, killed, stopped := writeSome(t, m)
	var y flipTally
	for range max(2**powerRounds, 20) {
		image := killed
		if rng.IntN(2) == 0 {
			image = stopped
		}
		require.NoError(t, m.disk.Restore(image))
		x := drawPlace(t, rng, m.disk)
		require.NoError(t, m.disk.Flip(x.path, x.at, x.bits))
		y.flips++
		flipRound(t, m, all, x, image == stopped, &y)
	}
	fmt.Printf("flips: %v\n", y)
	require.NotZero(t, y.found)
}

// flipRound starts a node on a directory with one flipped byte and reads all of it.
func flipRound(t *testing.T, m *machine, all written, x place, closed bool, y *flipTally) {
	t.Helper()
	where := fmt.Sprintf("%s byte %d ^ %#02x (closed %v)", x.path, x.at, x.bits, closed)
	code, report := m.inspect()
	require.Contains(t, []int{0, 1}, code, "%s\n%s", where, report)
	if err := m.tryStart(); err != nil {
		require.ErrorContains(t, err, "damaged", where)
		require.Equal(t, 1, code, "%s\n%s", where, report)
		y.found++
		y.refused++
		return
	}
	p := m.probe()
	var missing []string
	tail := true // nothing is behind what is missing
	for n := range all {
		got, refused := p.readBack("flip", int32(n), int64(len(all[n])))
		for name := range refused {
			require.Equal(t, "KAFKA_STORAGE_ERROR", name, where)
		}
		left := make(map[int64]linearizability.Record, len(all[n]))
		for offset, r := range all[n] {
			left[offset] = r
		}
		for _, r := range got {
			require.Equal(t, all[n][r.Offset], r, "%s: this is not what was written at %d of partition %d", where, r.Offset, n)
			delete(left, r.Offset)
		}
		for offset := range left {
			missing = append(missing, fmt.Sprintf("%d/%d", n, offset))
			tail = tail && (len(got) == 0 || offset > got[len(got)-1].Offset)
		}
		tail = tail && len(refused) == 0
	}
	said := m.node.Stderr()
	torn := strings.Contains(said, tornTail)
	slices.Sort(missing)
	switch {
	case len(missing) == 0 && code == 1:
		y.found++
	case len(missing) == 0 && torn:
		y.torn++
	case len(missing) == 0:
		y.harmless++
	case code == 1:
		y.found++
		y.costly++
		y.missing += len(missing)
		if !strings.Contains(said, "damaged") {
			y.silent++
		}
	case torn && tail:
		require.False(t, closed, "%s: a journal that was closed has no last group: %v are cut\n%s", where, missing, said)
		y.torn++
	default:
		require.Fail(t, "records are missing, and nobody says why", "%s: %v\ninspect %d: %s\n%s", where, missing, code, report, said)
	}
	gone, err := m.node.Exited()
	require.False(t, gone, "%s: %v\n%s", where, err, said)
	m.node.Kill()
}
