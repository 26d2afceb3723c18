package process

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Options say how to run `orrery serve`.
type Options struct {
	Binary string   // default: Binary
	Dir    string   // log.dirs; default: a folder of the test
	Listen string   // default 127.0.0.1:0
	Set    []string // NAME=VALUE
	Ready  time.Duration
}

// Node is a running `orrery serve`.
type Node struct {
	Addr    string
	Dir     string
	Startup time.Duration // from the start of the process to its ready line
	cmd     *exec.Cmd
	stderr  tail
	exited  chan struct{}
	err     error
}

// Start runs `orrery serve` and returns when it says that it is ready.
func Start(tb testing.TB, o Options) *Node {
	tb.Helper()
	n, err := TryStart(tb, o)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// TryStart is Start for a node that may refuse.
func TryStart(tb testing.TB, o Options) (*Node, error) {
	tb.Helper()
	if o.Binary == "" {
		o.Binary = Binary(tb)
	}
	if o.Dir == "" {
		o.Dir = tb.TempDir()
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Ready == 0 {
		o.Ready = 60 * time.Second
	}
	args := []string{"serve", "--set", "listeners=PLAINTEXT://" + o.Listen, "--set", "log.dirs=" + o.Dir, "--set", "node.id=1"}
	for _, s := range o.Set {
		args = append(args, "--set", s)
	}
	n := &Node{Dir: o.Dir, exited: make(chan struct{})}
	n.cmd = exec.Command(o.Binary, args...)
	n.cmd.Stderr = &n.stderr
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	tb.Cleanup(n.Kill)
	ready := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if addr, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
				select {
				case ready <- strings.TrimSpace(addr):
				default:
				}
			}
		}
		io.Copy(io.Discard, out)
		n.err = n.cmd.Wait()
		close(n.exited)
	}()
	select {
	case n.Addr = <-ready:
		n.Startup = time.Since(began)
		return n, nil
	case <-n.exited:
		return n, fmt.Errorf("orrery serve ended before it was ready: %v\n%s", n.err, n.Stderr())
	case <-time.After(o.Ready):
		n.Kill()
		return n, fmt.Errorf("orrery serve was not ready after %v\n%s", o.Ready, n.Stderr())
	}
}

// Port is the port of Addr.
func (n *Node) Port() string { return n.Addr[strings.LastIndexByte(n.Addr, ':')+1:] }

// Pid is the process id.
func (n *Node) Pid() int { return n.cmd.Process.Pid }

// Kill ends the process with SIGKILL and waits until it is gone.
func (n *Node) Kill() {
	n.cmd.Process.Signal(syscall.SIGKILL)
	<-n.exited
}

// Signal sends a signal.
func (n *Node) Signal(s os.Signal) error { return n.cmd.Process.Signal(s) }

// Stop ends the process with SIGTERM; it has to end by itself within the time.
func (n *Node) Stop(within time.Duration) error {
	n.cmd.Process.Signal(syscall.SIGTERM)
	if err := n.Wait(within); err != nil {
		return err
	}
	if n.err != nil {
		return fmt.Errorf("after SIGTERM: %w\n%s", n.err, n.Stderr())
	}
	return nil
}

// Wait waits for the end of the process.
func (n *Node) Wait(within time.Duration) error {
	select {
	case <-n.exited:
		return nil
	case <-time.After(within):
		return fmt.Errorf("the process still runs after %v", within)
	}
}

// Exited tells whether the process has ended, and with what.
func (n *Node) Exited() (bool, error) {
	select {
	case <-n.exited:
		return true, n.err
	default:
		return false, nil
	}
}

// Stderr is the end of what the process wrote to its standard error.
func (n *Node) Stderr() string { return n.stderr.String() }

// RSS is the process's resident memory in bytes, 0 where it can not be told.
func (n *Node) RSS() int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.Pid()))
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(b), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// tail keeps the last megabyte written to it.
type tail struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.b.Len() > 1<<20 {
		t.b.Next(t.b.Len() / 2)
	}
	return t.b.Write(p)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}
