package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/door"
)

// TestMain makes the test binary an orrery of its own when a test starts it so.
func TestMain(m *testing.M) {
	if args := os.Getenv("BROKER_PROCESS_ARGS"); args != "" {
		os.Args = append([]string{"orrery"}, strings.Split(args, "\n")...)
		main()
	}
	os.Exit(m.Run())
}

// process is a running `orrery` with its output.
type process struct {
	*exec.Cmd
	out, err *bufio.Reader
}

func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0])}
	p.Env = append(os.Environ(), "BROKER_PROCESS_ARGS="+strings.Join(args, "\n"))
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	talk, err := p.StderrPipe()
	require.NoError(t, err)
	p.out, p.err = bufio.NewReader(out), bufio.NewReader(talk)
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		if p.ProcessState == nil {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
	})
	return p
}

func startServe(t *testing.T, sets ...string) (p *process, address string) {
	t.Helper()
	args := []string{"serve", "--set", "listeners=PLAINTEXT://127.0.0.1:0", "--set", "log.dirs=" + t.TempDir()}
	for _, s := range sets {
		args = append(args, "--set", s)
	}
	p = startProcess(t, args...)
	line, err := p.out.ReadString('\n')
	require.NoError(t, err)
	require.Regexp(t, `^ready 127\.0\.0\.1:[1-9]\d*\n$`, line)
	return p, strings.TrimSpace(strings.TrimPrefix(line, "ready "))
}

// awaitLog reads the log up to a line that holds the words.
func (p *process) awaitLog(t *testing.T, words string) {
	t.Helper()
	for {
		line, err := p.err.ReadString('\n')
		require.NoError(t, err, "the log never said %q", words)
		if strings.Contains(line, words) {
			return
		}
	}
}

// end waits for the process and gives what it still said.
func (p *process) end(t *testing.T) (code int, out, talk string) {
	t.Helper()
	o, err := io.ReadAll(p.out)
	require.NoError(t, err)
	e, err := io.ReadAll(p.err)
	require.NoError(t, err)
	_ = p.Wait() // the code says it all
	return p.ProcessState.ExitCode(), string(o), string(e)
}

func TestServeEndsCleanlyOnSIGTERM(t *testing.T) {
	p, address := startServe(t)
	idle, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer idle.Close()
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	code, out, talk := p.end(t)
	require.Equal(t, 0, code, talk)
	require.Empty(t, out, "ready is said once")
	require.Contains(t, talk, "stopped")
}

func TestSecondSignalEndsADrainThatTakesTooLong(t *testing.T) {
	p, address := startServe(t, "orrery.drain.ms=3600000", "orrery.slow.reader.ms=3600000")
	deaf, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer deaf.Close()
	// Ask until no more is taken: the answers fill every buffer on their way.
	ask := kmsg.NewPtrApiVersionsRequest()
	many := bytes.Repeat(door.EncodeRequest(nil, 1, nil, ask), 10_000)
	for err == nil {
		require.NoError(t, deaf.SetWriteDeadline(time.Now().Add(time.Second)))
		_, err = deaf.Write(many)
	}
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	p.awaitLog(t, "stopping")
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	code, _, talk := p.end(t)
	require.Equal(t, -1, code, "ended by the signal itself")
	require.NotContains(t, talk, "stopped")
}

func TestServeThatCanNotStartSaysWhyAndFails(t *testing.T) {
	p := startProcess(t, "serve", "--set", "num.partition=3")
	code, out, talk := p.end(t)
	require.Equal(t, exitUsage, code)
	require.Empty(t, out)
	require.Equal(t, "orrery: --set: Unknown broker config name: num.partition. Did you mean num.partitions?\n", talk)

	_, address := startServe(t)
	p = startProcess(t, "serve", "--set", "listeners=PLAINTEXT://"+address, "--set", "log.dirs="+t.TempDir())
	code, out, talk = p.end(t)
	require.Equal(t, exitFailed, code)
	require.Empty(t, out)
	require.Contains(t, talk, "is in use")
}

func TestDevSaysHowToUseIt(t *testing.T) {
	p := startProcess(t, "dev", "--set", "listeners=PLAINTEXT://127.0.0.1:0", "--set", "log.dirs="+t.TempDir())
	line, err := p.out.ReadString('\n')
	require.NoError(t, err)
	address := strings.TrimSpace(strings.TrimPrefix(line, "ready "))
	for _, words := range []string{"bootstrap.servers=" + address, "produce -b " + address, "consume -b " + address, "topic list -b " + address} {
		for !strings.Contains(line, words) {
			line, err = p.out.ReadString('\n')
			require.NoError(t, err, words)
		}
	}
	require.NoError(t, p.Process.Signal(os.Interrupt))
	code, _, talk := p.end(t)
	require.Equal(t, 0, code, talk)
}
