package disk

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/orrery-log/orrery/core/env"
)

// A child is this test binary as a writer: it journals entries of log 1 from 1 on
// and prints "synced N" for each step, and at its end why.
const childKey = "ORRERY_DISK_CHILD"

// longKey in the environment asks for the rounds that `make long` has the time for.
const longKey = "ORRERY_LONG"

func TestMain(m *testing.M) {
	if os.Getenv(childKey) != "" {
		time.AfterFunc(30*time.Second, func() { // nobody waits for ever for a child that hangs
			fmt.Println("failed: too long")
			os.Exit(5)
		})
	}
	if mode := os.Getenv(childKey); mode == "power" {
		powerChild(os.Getenv(childKey + "_DIR"))
		return
	} else if mode != "" {
		child(mode, os.Getenv(childKey+"_DIR"))
		return
	}
	os.Exit(m.Run())
}

// child writes entries of about 64 KiB, several in flight, until it is killed or the disk fails.
func child(mode, dir string) {
	var limits []*os.File
	opts := Options{Dir: dir, JournalFileBytes: 1 << 20, GroupBytes: 256 << 10}
	switch mode {
	case "kill":
	case "file-size": // a write fails in the middle of an entry, as on a full disk
		signal.Ignore(syscall.SIGXFSZ)
		opts.JournalFileBytes = 64 << 20
		must(unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 3_000_000, Max: 3_000_000}))
	case "descriptors":
		must(unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: 64}))
	default:
		panic(mode)
	}
	d, err := Open(opts)
	must(err)
	next := env.Seq(1)
	for last := false; !last; {
		p, err := d.Survived()
		must(err)
		last = p.Last
		for _, e := range p.Entries {
			next = e.Seq + 1
		}
	}
	fmt.Println("open")
	if mode == "descriptors" { // take all that there are
		for {
			f, err := os.Open(os.DevNull)
			if err != nil {
				break
			}
			limits = append(limits, f)
		}
	}
	synced := next - 1
	first := next
	for {
		for next <= synced+20 {
			e := entry(next, 1, 60_000+int(next*7919)%9000)
			d.Act(&env.Outbox{Journal: []env.Entry{e}})
			next++
		}
		select {
		case ev := <-d.Events():
			if j, ok := ev.(env.Journaled); ok && j.Synced > synced {
				synced = j.Synced
				fmt.Println("synced", synced)
			}
		case err := <-d.Failed():
			fmt.Println("failed", err)
			os.Exit(3)
		}
		if mode == "descriptors" && synced >= first+100 { // six rolls
			fmt.Println("rolled with", len(limits), "descriptors taken")
			os.Exit(0)
		}
	}
}

func must(err error) {
	if err != nil {
		fmt.Println("failed", err)
		os.Exit(4)
	}
}

// childRun is a child under way.
type childRun struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	last  env.Seq // synced, as far as it told
	said  []string
}

func startChild(t *testing.T, mode, dir string) *childRun {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childKey+"="+mode, childKey+"_DIR="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return &childRun{cmd: cmd, lines: bufio.NewScanner(out)}
}

// line takes the next line; false: the child has ended.
func (c *childRun) line() bool {
	if !c.lines.Scan() {
		return false
	}
	line := c.lines.Text()
	if n, ok := strings.CutPrefix(line, "synced "); ok {
		_, _ = fmt.Sscan(n, &c.last)
	} else {
		c.said = append(c.said, line)
	}
	return true
}

// checkPrefix: all entries are those of log 1 from 1 on, and none that was synced is missing.
func checkPrefix(t *testing.T, r *rig, synced env.Seq) {
	t.Helper()
	require.Empty(t, r.found.Damage)
	require.GreaterOrEqual(t, len(r.found.Entries), int(synced), "synced entries are lost")
	for i, e := range r.found.Entries {
		require.Equal(t, entry(env.Seq(i+1), 1, len(e.Payload)), e)
	}
}

// Obligation 1, on real processes: the library refused to open 13 times of 60.
func TestAKilledWriterLosesNothingSynced(t *testing.T) {
	rounds, torn := 12, 0
	if os.Getenv(longKey) != "" {
		rounds = 200
	}
	dice := rand.New(rand.NewSource(1))
	dir := ""
	for round := range rounds {
		if round%20 == 0 { // nothing cuts the journal, and every start reads it
			dir = quickDir(t)
		}
		c := startChild(t, "kill", dir)
		for want := dice.Intn(12); c.line() && want > 0; want-- {
		}
		time.Sleep(time.Duration(dice.Intn(3000)) * time.Microsecond) // anywhere in a write
		require.NoError(t, c.cmd.Process.Kill())
		for c.line() {
		}
		_ = c.cmd.Wait()
		require.NotContains(t, strings.Join(c.said, "\n"), "failed")
		r := newRig(t, Options{Dir: dir, JournalFileBytes: 1 << 20})
		checkPrefix(t, r, c.last)
		if r.d.Repaired() {
			torn++
		}
		r.close()
	}
	t.Logf("%d of %d ended in a torn write", torn, rounds)
}

// Obligation 5: after a failed write the library accepts a retry and shows what
// it has lost.
func TestAFailedWriteEndsTheDiskAndLosesNothingSynced(t *testing.T) {
	dir := quickDir(t)
	c := startChild(t, "file-size", dir)
	for c.line() {
	}
	var exit *exec.ExitError
	require.True(t, errors.As(c.cmd.Wait(), &exit), "it went on")
	require.Equal(t, 3, exit.ExitCode())
	require.Contains(t, strings.Join(c.said, "\n"), "failed journal: write")
	require.Positive(t, c.last)
	r := newRig(t, Options{Dir: dir})
	require.True(t, r.d.Repaired(), "the write failed in the middle of an entry")
	checkPrefix(t, r, c.last)
}

// Obligation 7: without a descriptor for the next file the library is dead for good.
func TestTheJournalRollsWhenNoDescriptorIsLeft(t *testing.T) {
	dir := quickDir(t)
	c := startChild(t, "descriptors", dir)
	for c.line() {
	}
	require.NoError(t, c.cmd.Wait(), "%v", c.said)
	require.Contains(t, strings.Join(c.said, "\n"), "rolled with")
	r := newRig(t, Options{Dir: dir})
	checkPrefix(t, r, c.last)
}
