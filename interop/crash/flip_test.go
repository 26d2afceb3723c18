package crash

import (
	"fmt"
	"maps"
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

// flips runs rounds on one binary: each starts a node on a directory with a byte
// that flipped, and reads all of it. It stops at the first that is wrong.
func flips(t *testing.T, rng *rand.Rand, binary string, rounds int) (y flipTally, err error) {
	t.Helper()
	m := newMachine(t, rng, binary, small...)
	all, killed, stopped := writeSome(t, m)
	for range rounds {
		image := killed
		if rng.IntN(2) == 0 {
			image = stopped
		}
		require.NoError(t, m.disk.Restore(image))
		x := drawPlace(t, rng, m.disk)
		require.NoError(t, m.disk.Flip(x.path, x.at, x.bits))
		y.flips++
		if err := flipRound(m, all, image == stopped, &y); err != nil {
			return y, fmt.Errorf("%s byte %d ^ %#02x (closed %v): %w", x.path, x.at, x.bits, image == stopped, err)
		}
	}
	return y, nil
}

// flipRound starts a node and reads back what is there. What is read has to be what
// was written, and what is missing has to be named, or cut as a tear.
func flipRound(m *machine, all written, closed bool, y *flipTally) error {
	code, report := m.inspect()
	if code != 0 && code != 1 {
		return fmt.Errorf("disk inspect ends with %d: %s", code, report)
	}
	if err := m.tryStart(); err != nil {
		if code != 1 || !strings.Contains(err.Error(), "damaged") {
			return fmt.Errorf("the start failed: %w; inspect %d: %s", err, code, report)
		}
		y.found++
		y.refused++
		return nil
	}
	defer m.node.Kill()
	p := m.probe()
	var missing []string
	tail := true // nothing is behind what is missing
	for n := range all {
		got, refused := p.readBack("flip", int32(n), int64(len(all[n])))
		for name := range refused {
			if name != "KAFKA_STORAGE_ERROR" {
				return fmt.Errorf("a damaged range of partition %d is answered %s", n, name)
			}
		}
		left := maps.Clone(all[n])
		for _, r := range got {
			if all[n][r.Offset] != r {
				return fmt.Errorf("SERVED: %+v is not what was written at %d of partition %d: %+v", r, r.Offset, n, all[n][r.Offset])
			}
			delete(left, r.Offset)
		}
		for offset := range left {
			missing = append(missing, fmt.Sprintf("%d/%d", n, offset))
			tail = tail && (len(got) == 0 || offset > got[len(got)-1].Offset)
		}
		tail = tail && len(refused) == 0
	}
	slices.Sort(missing)
	said := m.node.Stderr()
	if gone, err := m.node.Exited(); gone {
		return fmt.Errorf("the node ended: %w\n%s", err, said)
	}
	torn := strings.Contains(said, tornTail)
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
	case torn && tail && !closed: // a journal that was closed has no last group
		y.torn++
	default:
		return fmt.Errorf("missing, and nobody says why: %v\ninspect: %s\n%s", missing, report, said)
	}
	return nil
}

// TestFlippedBitsAreFoundAndNeverServed flips bits of what is on the medium. What
// is read afterwards is what was written, or it is refused and the damage is named,
// or it was in the last group of a journal that nobody closed: cut, with a line.
func TestFlippedBitsAreFoundAndNeverServed(t *testing.T) {
	y, err := flips(t, drawn(t), process.Binary(t), max(4**powerRounds, 40))
	fmt.Printf("flips: %v\n", y)
	require.NoError(t, err)
	require.NotZero(t, y.found)
	require.NotZero(t, y.torn)
	require.Zero(t, y.silent, "damage that costs records is said in the log")
}

// TestBuildsThatTrustTheMediumAreCaught flips bits under builds that leave a checksum
// out. Each must fail the rounds.
func TestBuildsThatTrustTheMediumAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs many nodes; run it without -short")
	}
	for _, b := range []struct{ name, file, text, by string }{
		{"entries of the journal are not verified", "disk/frame.go",
			"if len(data) < n || crc32.Checksum(payload, castagnoli) != be.Uint32(data[25:]) {", "if len(data) < n {"},
		{"batches of segments are not verified", "core/log/load.go",
			"return b.Sound() && b.LeaderEpoch()", "return b.LeaderEpoch()"},
	} {
		t.Run(b.name, func(t *testing.T) {
			y, err := flips(t, drawn(t), broken(t, b.file, b.text, b.by), 400)
			how, _, _ := strings.Cut(fmt.Sprint(err), "\n")
			fmt.Printf("flips: a build in which %s, after %d flips: %s\n", b.name, y.flips, how)
			require.Error(t, err, "the broken build was not caught: %v", y)
		})
	}
}
