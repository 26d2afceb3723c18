package crash

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/orrery-log/orrery/interop/process"
	"github.com/orrery-log/orrery/linearizability"
)

var (
	crashRounds = flag.Int("crash.rounds", 20, "rounds of SIGKILL")
	seed        = flag.Uint64("crash.seed", 0, "seed of the rounds; 0: a new one")
	historyFile = flag.String("crash.history", "", "write the history there, for orrery check")
)

func TestMain(m *testing.M) {
	code := m.Run()
	process.Clean()
	os.Exit(code)
}

func drawn(t *testing.T) *rand.Rand {
	t.Helper()
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("drawn from -crash.seed=%d", s)
	return rand.New(rand.NewPCG(s, 0))
}

const tornTail = "the journal ended in a torn write"

// tally is what the rounds came to.
type tally struct {
	rounds, inFlight, repaired int
	slowest                    time.Duration // the longest start
}

func (y tally) String() string {
	return fmt.Sprintf("%d rounds, %d with a produce in flight at the kill, %d repaired tails, slowest start %v", y.rounds, y.inFlight, y.repaired, y.slowest.Round(time.Millisecond))
}

// makeTopic creates the topic on a running node.
func makeTopic(t *testing.T, addr, topic string, partitions int32) {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(addr))
	require.NoError(t, err)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err = kadm.NewClient(c).CreateTopic(ctx, partitions, 1, nil, topic)
	require.NoError(t, err)
}

// killRounds runs the rounds of SIGKILL on one binary and gives the load, ended.
func killRounds(t *testing.T, rng *rand.Rand, binary string, rounds int) (*load, tally) {
	t.Helper()
	addr, err := freePort(rng)
	require.NoError(t, err)
	o := process.Options{Binary: binary, Dir: t.TempDir(), Listen: addr}
	node := process.Start(t, o)
	makeTopic(t, addr, "crash", 3)
	l, err := begin(addr, "crash", 3, 3, true)
	require.NoError(t, err)
	defer l.stop()
	y := tally{rounds: rounds}
	for round := range rounds {
		if round > 0 && round%25 == 0 {
			fmt.Printf("crash: %d rounds so far, %d repaired tails, slowest start %v\n", round, y.repaired, y.slowest.Round(time.Millisecond))
		}
		awaitProgress(t, l, node)
		time.Sleep(time.Duration(rng.IntN(120)) * time.Millisecond) // when to kill is drawn
		for deadline := time.Now().Add(5 * time.Second); l.inFlight.Load() == 0 && time.Now().Before(deadline); {
			time.Sleep(50 * time.Microsecond)
		}
		if l.inFlight.Load() > 0 {
			y.inFlight++
		}
		node.Kill()
		node = process.Start(t, o)
		y.slowest = max(y.slowest, node.Startup)
		if strings.Contains(node.Stderr(), tornTail) {
			y.repaired++
		}
	}
	require.NoError(t, l.end())
	require.NoError(t, node.Stop(20*time.Second))
	return l, y
}

// awaitProgress waits until a few records were acknowledged by this life.
func awaitProgress(t *testing.T, l *load, node *process.Node) {
	t.Helper()
	from := l.acked.Load()
	for deadline := time.Now().Add(30 * time.Second); l.acked.Load() < from+5; {
		if gone, err := node.Exited(); gone {
			t.Fatalf("the node ended by itself: %v\n%s", err, node.Stderr())
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing is acknowledged any more after a restart: %v\n%s", l.errors, node.Stderr())
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// judge checks the history.
func judge(t *testing.T, l *load) linearizability.Verdict {
	t.Helper()
	if *historyFile != "" {
		f, err := os.Create(*historyFile)
		require.NoError(t, err)
		require.NoError(t, l.history.Write(f))
		require.NoError(t, f.Close())
	}
	return linearizability.Check(l.history.History(), linearizability.Options{FetchEnds: true})
}

func TestNothingAcknowledgedIsLostWhenTheProcessIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it kills processes for a while; run it without -short")
	}
	l, y := killRounds(t, drawn(t), process.Binary(t), *crashRounds)
	v := judge(t, l)
	fmt.Printf("crash: %v, %d records acknowledged: %s\n", y, l.acked.Load(), verdictLine(v.String()))
	require.Equal(t, linearizability.Holds, v.Judgement(), "%s", v.String())
	require.Empty(t, l.errors)
	require.Equal(t, y.rounds, y.inFlight, "at each kill a produce has to be in flight")
	if *crashRounds >= 200 {
		require.GreaterOrEqual(t, y.repaired, 10, "too few kills tore the journal's tail to say much")
	}
}

// TestABuildThatAcknowledgesBeforeItWritesIsCaught runs the same rounds on a
// build in which acks=all does not wait for the watermark.
func TestABuildThatAcknowledgesBeforeItWritesIsCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and kills; run it without -short")
	}
	binary := broken(t, "core/replica/rules.go",
		"func ackedCommitted(hw, end int64) bool { return hw >= end }",
		"func ackedCommitted(hw, end int64) bool { return true }")
	l, y := killRounds(t, drawn(t), binary, 20)
	v := judge(t, l)
	fmt.Printf("crash: a build that acknowledges too early, %v: %s\n", y, verdictLine(v.String()))
	require.Equal(t, linearizability.Violated, v.Judgement(), "the broken build was not caught: %s", v.String())
	require.True(t, v.Has(linearizability.LostWrite) || v.Has(linearizability.InconsistentOffsets) || v.Has(linearizability.Unseen), "%s", v.String())
}

// verdictLine is a report's sum.
func verdictLine(report string) string {
	report = strings.TrimSpace(report)
	return report[strings.LastIndexByte(report, '\n')+1:]
}

// broken builds orrery with one text of one file replaced; the text has to be there.
func broken(t *testing.T, file, text, by string) string {
	t.Helper()
	path := filepath.Join(process.Root(), file)
	source, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(source), text), "%s has changed: say anew what to break", file)
	dir := t.TempDir()
	patched := filepath.Join(dir, "patched.go")
	require.NoError(t, os.WriteFile(patched, []byte(strings.Replace(string(source), text, by, 1)), 0o644))
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: patched}})
	require.NoError(t, err)
	at := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(at, overlay, 0o644))
	return process.Broken(t, at)
}
