package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/orrery-log/orrery/interop/powerfs"
	"github.com/orrery-log/orrery/interop/process"
)

// machine is a node on a disk that can lose power and have trouble.
type machine struct {
	t    *testing.T
	disk *powerfs.FS
	mnt  string
	o    process.Options
	node *process.Node
}

// newMachine mounts an empty disk. Nothing runs yet.
func newMachine(t *testing.T, rng *rand.Rand, binary string, set ...string) *machine {
	t.Helper()
	if testing.Short() {
		t.Skip("it runs nodes; run it without -short")
	}
	if err := powerfs.Available(); err != nil {
		process.Skip(t, "no disk that can lose power: %v", err)
	}
	addr, err := freePort(rng)
	require.NoError(t, err)
	m := &machine{t: t, disk: powerfs.New(), mnt: t.TempDir()}
	m.o = process.Options{Binary: binary, Dir: filepath.Join(m.mnt, "data"), Listen: addr, Set: set}
	require.NoError(t, m.disk.Mount(m.mnt))
	t.Cleanup(m.end)
	return m
}

// end takes the machine away.
func (m *machine) end() {
	m.disk.Heal() // a process that waits for the disk can not die
	if m.node != nil {
		m.node.Kill()
	}
	require.NoError(m.t, m.disk.Unmount())
}

func (m *machine) start() {
	m.t.Helper()
	require.NoError(m.t, m.tryStart())
}

// tryStart is start for a node that may refuse.
func (m *machine) tryStart() error {
	m.t.Helper()
	node, err := process.TryStart(m.t, m.o)
	if err == nil {
		m.node = node
	}
	return err
}

// launch runs a node and does not wait until it is ready.
func (m *machine) launch() *exec.Cmd {
	m.t.Helper()
	args := []string{"serve", "--set", "listeners=PLAINTEXT://" + m.o.Listen, "--set", "log.dirs=" + m.o.Dir, "--set", "node.id=1"}
	for _, s := range m.o.Set {
		args = append(args, "--set", s)
	}
	node := exec.Command(m.o.Binary, args...)
	require.NoError(m.t, node.Start())
	return node
}

// cutWhileStarting starts a node and takes the power away at its n-th request that
// would change the disk, or when it is ready and asks for nothing more.
func (m *machine) cutWhileStarting(seed uint64, n int) powerfs.Survival {
	m.t.Helper()
	at := m.disk.Hang(powerfs.OpAny, "", n)
	node := m.launch()
	select {
	case <-at.Met():
	case <-time.After(5 * time.Second):
	}
	m.disk.PowerOff(func() { require.NoError(m.t, node.Process.Kill()) })
	_ = node.Wait() // it was killed
	s, err := m.disk.PowerOn(seed)
	require.NoError(m.t, err)
	return s
}

// cut takes the power away in the middle of whatever is going on, and gives it
// back: what was not synced is drawn by the seed. atCut is called at the moment.
func (m *machine) cut(seed uint64, atCut func()) powerfs.Survival {
	m.t.Helper()
	m.disk.PowerOff(func() {
		atCut()
		require.NoError(m.t, m.node.Signal(syscall.SIGKILL))
	})
	m.node.Kill()
	s, err := m.disk.PowerOn(seed)
	require.NoError(m.t, err)
	return s
}

// exitCode waits until the node has ended by itself.
func (m *machine) exitCode(within time.Duration) int {
	m.t.Helper()
	if err := m.node.Wait(within); err != nil {
		_ = m.node.Signal(syscall.SIGQUIT) // for what its goroutines do
		_ = m.node.Wait(within)
		require.NoError(m.t, err, "%s", m.node.Stderr())
	}
	_, err := m.node.Exited()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	require.NoError(m.t, err)
	return 0
}

// inspect runs `orrery disk inspect` on the data directory.
func (m *machine) inspect() (code int, report string) {
	m.t.Helper()
	out, err := exec.Command(m.o.Binary, "disk", "inspect", m.o.Dir).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), string(out)
	}
	require.NoError(m.t, err, "%s", out)
	return 0, string(out)
}

// check lets `orrery check` judge a history from a file.
func (m *machine) check(l *load) error {
	path := filepath.Join(m.t.TempDir(), "history.jsonl")
	f, err := os.Create(path)
	require.NoError(m.t, err)
	require.NoError(m.t, l.history.Write(f))
	require.NoError(m.t, f.Close())
	if out, err := exec.Command(m.o.Binary, "check", path).CombinedOutput(); err != nil {
		return fmt.Errorf("orrery check: %w\n%s", err, out)
	}
	return nil
}

func (m *machine) client(opts ...kgo.Opt) *kgo.Client {
	m.t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(m.o.Listen), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }), kgo.MetadataMinAge(20 * time.Millisecond)}, opts...)...)
	require.NoError(m.t, err)
	m.t.Cleanup(c.Close)
	return c
}

// topic creates a topic with settings written NAME=VALUE.
func (m *machine) topic(name string, partitions int32, settings ...string) {
	m.t.Helper()
	require.NoError(m.t, m.tryTopic(name, partitions, settings...), "%s", m.node.Stderr())
}

func (m *machine) tryTopic(name string, partitions int32, settings ...string) error {
	m.t.Helper()
	c := m.client()
	defer c.Close()
	ctx, cancel := context.WithTimeout(m.t.Context(), 30*time.Second)
	defer cancel()
	configs := map[string]*string{}
	for _, s := range settings {
		k, v, _ := strings.Cut(s, "=")
		configs[k] = &v
	}
	_, err := kadm.NewClient(c).CreateTopic(ctx, partitions, 1, configs, name)
	return err
}

func (m *machine) deleteTopic(name string) {
	m.t.Helper()
	c := m.client()
	defer c.Close()
	ctx, cancel := context.WithTimeout(m.t.Context(), 30*time.Second)
	defer cancel()
	_, err := kadm.NewClient(c).DeleteTopic(ctx, name)
	require.NoError(m.t, err, "%s", m.node.Stderr())
}
