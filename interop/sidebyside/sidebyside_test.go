package sidebyside

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/interop/process"
)

// server is one running broker.
type server struct {
	addr    string
	pid     int
	startup time.Duration
	stop    func()
}

// figure is one measured number.
type figure struct {
	name   string
	value  float64
	larger bool // larger is better
}

// mode is how both are set up.
type mode struct {
	name          string
	kafka, orrery []string
}

func TestSideBySide(t *testing.T) {
	if os.Getenv("BENCH") == "" {
		t.Skip("SKIPPED: takes minutes and wants the machine for itself; make bench runs it")
	}
	binary := process.Binary(t)
	for _, m := range []mode{
		{"defaults of both: Kafka acknowledges what is written, orrery what is synced", nil, nil},
		{"both sync before each ack", []string{"log.flush.interval.messages=1"}, nil},
		{"neither syncs: orrery with durability=written", nil, []string{"orrery.durability=written"}},
	} {
		if m.orrery != nil && os.Getenv("BENCH_RELAXED") == "" {
			continue
		}
		k := startKafka(t, m.kafka)
		kafka := measure(t, binary, k)
		o := startOrrery(t, m.orrery)
		orrery := measure(t, binary, o)
		print(m.name, kafka, orrery)
	}
}

func startKafka(t *testing.T, set []string) *server {
	t.Helper()
	script, state := filepath.Join(process.Root(), "interop", "kafka.sh"), t.TempDir()
	run := func(args ...string) (string, error) {
		cmd := exec.Command(script, args...)
		cmd.Env = append(os.Environ(), "INTEROP_STATE="+state)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	port := os.Getenv("BENCH_PORT")
	if port == "" {
		port = "19092"
	}
	addr, err := run(append([]string{"start", port}, set...)...)
	require.NoError(t, err, "starting Apache Kafka; interop/setup.sh apache-kafka installs what it needs")
	ready := time.Now()
	pidFile := filepath.Join(state, "pid")
	stopped := false
	s := &server{addr: addr, stop: func() {
		if !stopped {
			stopped = true
			_, err := run("stop")
			require.NoError(t, err)
		}
	}}
	t.Cleanup(s.stop)
	text, err := os.ReadFile(pidFile)
	require.NoError(t, err)
	s.pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	info, err := os.Stat(pidFile) // written when the server was started
	require.NoError(t, err)
	s.startup = ready.Sub(info.ModTime())
	return s
}

func startOrrery(t *testing.T, set []string) *server {
	t.Helper()
	n := process.Start(t, process.Options{Set: set})
	return &server{n.Addr, n.Pid(), n.Startup, func() { require.NoError(t, n.Stop(30*time.Second)) }}
}

// measure runs every bench on a fresh server and stops it.
func measure(t *testing.T, binary string, s *server) []figure {
	t.Helper()
	defer s.stop()
	idle := time.NewTimer(5 * time.Second) // "idle" is what a server is some seconds after its start
	<-idle.C
	all := []figure{
		{"start-up, s", s.startup.Seconds(), false},
		{"idle RSS, MiB", float64(rss(s.pid)) / (1 << 20), false},
	}
	records, lasting := setting("BENCH_RECORDS", "1000000"), setting("BENCH_FOR", "20s")
	bench := func(args ...string) (map[string]float64, float64) {
		t.Helper()
		before := cpu(s.pid)
		cmd := exec.Command(binary, append([]string{"bench"}, append(args, "--json", "-q", "-b", s.addr)...)...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		require.NoError(t, err, "orrery bench %s", strings.Join(args, " "))
		var found map[string]any
		require.NoError(t, json.Unmarshal(out, &found))
		numbers := make(map[string]float64)
		for name, v := range found {
			if n, ok := v.(float64); ok {
				numbers[name] = n
			}
		}
		return numbers, (cpu(s.pid) - before) / (numbers["bytes"] / 1e9)
	}
	bench("produce", "-t", "warm-up", "-n", "200000") // a virtual machine that has compiled nothing yet is not what is compared
	bench("consume", "-t", "warm-up")
	for _, partitions := range []string{"1", "100"} {
		topic := "bench-" + partitions
		p, cost := bench("produce", "-t", topic, "-p", partitions, "-n", records)
		all = append(all, figure{"produce, " + partitions + " partition(s), MB/s", p["mb_per_second"], true},
			figure{"  server CPU, s/GB", cost, false})
		c, cost := bench("consume", "-t", topic)
		all = append(all, figure{"consume, " + partitions + " partition(s), MB/s", c["mb_per_second"], true},
			figure{"  server CPU, s/GB", cost, false})
	}
	l, _ := bench("latency", "-t", "bench-latency", "--rate", "10000", "--for", lasting)
	return append(all, figure{"end to end at 10,000/s, p50 ms", l["p50_ms"], false}, figure{"  p99 ms", l["p99_ms"], false}, figure{"  max ms", l["max_ms"], false})
}

func setting(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

// cpu is the processor time that a process has used, in seconds.
func cpu(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100
}

// rss is a process's resident memory, in bytes.
func rss(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// print writes both columns and how many times better orrery is.
func print(name string, kafka, orrery []figure) {
	fmt.Printf("\n%s\n", name)
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tApache Kafka\torrery\torrery is better by")
	for i, k := range kafka {
		o := orrery[i]
		ratio := o.value / k.value
		if !k.larger {
			ratio = k.value / o.value
		}
		fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.2f\n", k.name, k.value, o.value, ratio)
	}
	t.Flush()
}
