package crash

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/interop/powerfs"
	"github.com/orrery-log/orrery/interop/process"
	"github.com/orrery-log/orrery/linearizability"
)

var powerRounds = flag.Int("power.rounds", 10, "rounds of lost power")

// roundsPerTopic bounds what the disk, which is in memory, has to hold: each topic
// goes with its load when its rounds are over. The directory grows old all the same.
const roundsPerTopic = 10

// powerTally is what the rounds came to.
type powerTally struct {
	rounds, inFlight, repaired, dirty int
	starting                          int // power lost once more, while the node started
	inFlightSum, acked                int64
	left                              powerfs.Survival
	slowest                           time.Duration
}

func (y powerTally) String() string {
	return fmt.Sprintf("%d rounds, %d with a produce in flight at the cut (%d in all), %d with bytes or names that no fsync covered, %d repaired tails, "+
		"%d cuts more while the node started, slowest start %v, %d records acknowledged; of what was not synced: %v", y.rounds, y.inFlight, y.inFlightSum, y.dirty, y.repaired,
		y.starting, y.slowest.Round(time.Millisecond), y.acked, y.left)
}

// small settings: journal files, segments and checkpoints come and go all the time.
var small = []string{"orrery.journal.max.bytes=8388608", "orrery.store.bytes=65536", "orrery.store.ms=200", "orrery.checkpoint.interval.bytes=262144",
	"log.segment.bytes=1048576", "orrery.tails.max.bytes=4194304"}

// powerCuts runs the rounds on one binary. It stops at the first history that does
// not hold, or when the node can not go on, and says so.
func powerCuts(t *testing.T, rng *rand.Rand, binary string, rounds int) (powerTally, linearizability.Verdict, error) {
	t.Helper()
	m := newMachine(t, rng, binary, small...)
	m.start()
	var y powerTally
	var verdict linearizability.Verdict
	for y.rounds < rounds {
		generation := y.rounds / roundsPerTopic
		if generation > 0 {
			fmt.Printf("power: %d rounds so far, %d repaired tails, slowest start %v\n", y.rounds, y.repaired, y.slowest.Round(time.Millisecond))
		}
		topic := fmt.Sprintf("power-%d", generation)
		m.topic(topic, 4)
		l, err := begin(m.o.Listen, topic, 4, 2, generation%2 == 1)
		require.NoError(t, err)
		defer l.stop()
		for range min(roundsPerTopic, rounds-y.rounds) {
			if err := powerRound(t, rng, m, l, &y); err != nil {
				return y, verdict, fmt.Errorf("round %d: %w", y.rounds, err)
			}
		}
		if err := l.end(); err != nil {
			return y, verdict, err
		}
		y.acked += l.acked.Load()
		v := judge(t, l) // of its own topic: the histories have nothing in common
		verdict.Add(v)
		verdict.Partitions, verdict.Operations = verdict.Partitions+v.Partitions, verdict.Operations+v.Operations
		verdict.Acknowledged, verdict.Read, verdict.Ends = verdict.Acknowledged+v.Acknowledged, verdict.Read+v.Read, verdict.Ends+v.Ends
		if verdict.Judgement() != linearizability.Holds {
			return y, verdict, nil
		}
		if err := m.check(l); err != nil {
			return y, verdict, err
		}
		if len(l.errors) > 0 {
			return y, verdict, fmt.Errorf("refused: %v\n%s", l.errors, m.node.Stderr())
		}
		m.deleteTopic(topic)
	}
	if err := m.node.Stop(20 * time.Second); err != nil {
		return y, verdict, err
	}
	if code, report := m.inspect(); code != 0 {
		return y, verdict, fmt.Errorf("disk inspect: %s", report)
	}
	return y, verdict, nil
}

// powerRound lets the load go on for a while, cuts the power, and starts again; in
// every fourth round power is lost once more while the node starts.
func powerRound(t *testing.T, rng *rand.Rand, m *machine, l *load, y *powerTally) error {
	t.Helper()
	// An fsync takes its time, as on a disk; on this one it would take none.
	m.disk.Slow(powerfs.OpSync, "", time.Duration(1+rng.IntN(8))*time.Millisecond)
	m.disk.Slow(powerfs.OpSyncDir, "", time.Duration(1+rng.IntN(4))*time.Millisecond)
	if err := progress(l, m.node); err != nil {
		return err
	}
	time.Sleep(time.Duration(rng.IntN(150)) * time.Millisecond) // when to cut is drawn
	for deadline := time.Now().Add(5 * time.Second); l.inFlight.Load() == 0 && time.Now().Before(deadline); {
		time.Sleep(50 * time.Microsecond)
	}
	y.left.Add(m.cut(rng.Uint64(), func() {
		if n := l.inFlight.Load(); n > 0 {
			y.inFlight++
			y.inFlightSum += n
		}
		if bytes, names := m.disk.Dirty(); bytes+int64(names) > 0 {
			y.dirty++
		}
	}))
	if rng.IntN(4) == 0 {
		y.left.Add(m.cutWhileStarting(rng.Uint64(), 1+rng.IntN(15)))
		y.starting++
	}
	if err := m.tryStart(); err != nil {
		return err
	}
	y.rounds++
	y.slowest = max(y.slowest, m.node.Startup)
	said := m.node.Stderr()
	if strings.Contains(said, tornTail) {
		y.repaired++
	}
	if strings.Contains(said, "damaged") {
		return fmt.Errorf("a loss of power is no damage: %s", said)
	}
	return nil
}

// progress waits until a few records were acknowledged by this life.
func progress(l *load, node *process.Node) error {
	from := l.acked.Load()
	for deadline := time.Now().Add(20 * time.Second); l.acked.Load() < from+5; time.Sleep(2 * time.Millisecond) {
		if gone, err := node.Exited(); gone {
			return fmt.Errorf("the node ended by itself: %v\n%s", err, node.Stderr())
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("nothing is acknowledged any more after a restart: %v\n%s", l.errors, node.Stderr())
		}
	}
	return nil
}

func TestNothingAcknowledgedIsLostWhenThePowerGoes(t *testing.T) {
	began := time.Now()
	y, v, err := powerCuts(t, drawn(t), process.Binary(t), *powerRounds)
	fmt.Printf("power: %v: %v, in %v\n", y, verdictLine(v.String()), time.Since(began).Round(time.Second))
	require.NoError(t, err)
	require.Equal(t, linearizability.Holds, v.Judgement(), "%s", v.String())
	require.Equal(t, y.rounds, y.inFlight, "at each cut a produce has to be in flight")
	if *powerRounds >= 100 {
		require.GreaterOrEqual(t, y.repaired, 10, "too few cuts tore the journal's tail to say much")
	}
}

// TestBuildsThatDoNotSyncAreCaught runs the same rounds on builds that say Synced
// too early. Each must fail them: rounds that nothing fails would prove nothing.
func TestBuildsThatDoNotSyncAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs many nodes; run it without -short")
	}
	for _, b := range []struct{ name, file, text, by string }{
		{"an acknowledgement waits for Written only", "core/log/log.go", "if l.s.Relaxed {", "if true {"},
		{"the journal's fsync is left out", "disk/journal.go",
			"go func() { j.finished <- sync(tail) }()", "go func() { _, _ = sync, tail; j.finished <- nil }()"},
		{"the fsync of directories is left out", "disk/files.go",
			"if err := d.Sync(); err != nil {", "if err := error(nil); err != nil {"},
		{"the segments' fsync is left out", "disk/flight.go",
			"if err := s.d.opts.hooks.sync(files[i]); err != nil {", "if err := error(nil); err != nil {"},
	} {
		t.Run(b.name, func(t *testing.T) {
			y, v, err := powerCuts(t, drawn(t), broken(t, b.file, b.text, b.by), 40)
			how := v.String()
			if err != nil {
				how = err.Error()
			}
			how, _, _ = strings.Cut(how, "\n")
			fmt.Printf("power: a build in which %s, after %d rounds: %s\n", b.name, y.rounds, how)
			require.True(t, err != nil || v.Judgement() == linearizability.Violated, "the broken build was not caught: %v", y)
		})
	}
}
