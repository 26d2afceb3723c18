package scale

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/orrery-log/orrery/interop/process"
)

var partitions = flag.Int("scale.partitions", 2000, "partitions; `make long` takes 10,000")

func TestMain(m *testing.M) {
	code := m.Run()
	process.Clean()
	os.Exit(code)
}

// journalBudget is small, so that the journal passes half of it many times.
const journalBudget = 16 << 20

func TestManyIdlePartitionsCostNoFilesAndTheJournalStaysBounded(t *testing.T) {
	dir := t.TempDir()
	set := []string{"orrery.journal.max.bytes=" + strconv.Itoa(journalBudget)}
	n := process.Start(t, process.Options{Dir: dir, Set: set})
	fmt.Printf("scale: %d partitions; at start %d MiB, ready after %v\n", *partitions, n.RSS()>>20, n.Startup.Round(time.Millisecond))
	c := connect(t, n.Addr)
	began := time.Now()
	c.create("many", *partitions)
	fmt.Printf("scale: created in %v; %s\n", time.Since(began).Round(time.Millisecond), state(n))

	began = time.Now()
	c.round("many", *partitions, 1)
	fmt.Printf("scale: one record each in %v; %s\n", time.Since(began).Round(time.Millisecond), state(n))
	require.Less(t, files(filepath.Join(dir, "segments")), 50, "a partition with one record has a file")

	// A few busy partitions drive the journal past half of its budget again and
	// again. The idle ones' records, which lie before, must not hold the cut back,
	// nor cost a file each.
	began = time.Now()
	c.create("busy", 4)
	largest, slowest := int64(0), time.Duration(0)
	for range 12 {
		fill := time.Now()
		c.fill("busy", 4, journalBudget/2)
		largest, slowest = max(largest, journal(dir)), max(slowest, time.Since(fill))
	}
	fmt.Printf("scale: %d MiB over four partitions beside in %v, slowest twelfth %v; largest journal %d MiB; %s\n", 12*journalBudget/2>>20, time.Since(began).Round(time.Millisecond), slowest.Round(time.Millisecond), largest>>20, state(n))
	require.Less(t, largest, int64(2*journalBudget), "the journal's files")
	require.Less(t, files(filepath.Join(dir, "segments")), 100, "an idle partition got a file")

	// All of them busy, each a little.
	began = time.Now()
	largest = 0
	const rounds = 10
	for range rounds {
		c.round("many", *partitions, 1)
		largest = max(largest, journal(dir))
	}
	fmt.Printf("scale: %d more records each in %v; largest journal %d MiB; %s\n", rounds, time.Since(began).Round(time.Millisecond), largest>>20, state(n))
	require.Less(t, largest, int64(2*journalBudget), "the journal's files")

	require.Less(t, idleCPU(t, n), 0.2, "processor time a second when nothing happens")

	n.Kill()
	n = process.Start(t, process.Options{Dir: dir, Set: set})
	fmt.Printf("scale: ready again %v after SIGKILL; %s\n", n.Startup.Round(time.Millisecond), state(n))
	c = connect(t, n.Addr)
	began = time.Now()
	ends, err := kadm.NewClient(c.Client).ListEndOffsets(t.Context(), "many")
	require.NoError(t, err)
	require.NoError(t, ends.Error())
	require.Len(t, ends["many"], *partitions)
	for p, o := range ends["many"] {
		require.EqualValues(t, rounds+1, o.Offset, "end of partition %d", p)
	}
	fmt.Printf("scale: all ends asked in %v\n", time.Since(began).Round(time.Millisecond))
	began = time.Now()
	require.NoError(t, n.Stop(30*time.Second))
	fmt.Printf("scale: stopped in %v\n", time.Since(began).Round(time.Millisecond))
}

// client is a Kafka client that fails its test.
type client struct {
	t *testing.T
	*kgo.Client
}

func connect(t *testing.T, addr string) *client {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableIdempotentWrite(), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.MaxProduceRequestsInflightPerBroker(1), kgo.ProducerLinger(5*time.Millisecond), kgo.MaxBufferedRecords(1_000_000), kgo.MetadataMinAge(100*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return &client{t, c}
}

func (c *client) create(topic string, partitions int) {
	c.t.Helper()
	res, err := kadm.NewClient(c.Client).CreateTopic(c.t.Context(), int32(partitions), 1, nil, topic)
	require.NoError(c.t, err)
	require.NoError(c.t, res.Err)
}

// round produces n records to each partition.
func (c *client) round(topic string, partitions, n int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	records := make([]*kgo.Record, 0, partitions*n)
	for i := range partitions * n {
		records = append(records, &kgo.Record{Topic: topic, Partition: int32(i % partitions), Value: []byte("one record of many")})
	}
	require.NoError(c.t, c.ProduceSync(ctx, records...).FirstErr())
}

// fill produces so many bytes over the partitions.
func (c *client) fill(topic string, partitions int, bytes int) {
	c.t.Helper()
	const size = 4096
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	records := make([]*kgo.Record, 0, bytes/size)
	for i := range bytes / size {
		records = append(records, &kgo.Record{Topic: topic, Partition: int32(i % partitions), Value: make([]byte, size)})
	}
	require.NoError(c.t, c.ProduceSync(ctx, records...).FirstErr())
}

func state(n *process.Node) string {
	return fmt.Sprintf("RSS %d MiB, journal %.1f MiB, %d segment files", n.RSS()>>20, float64(journal(n.Dir))/(1<<20), files(filepath.Join(n.Dir, "segments")))
}

// journal is the bytes of the journal's files.
func journal(dir string) int64 {
	sum := int64(0)
	walk(filepath.Join(dir, "journal"), func(i fs.FileInfo) { sum += i.Size() })
	return sum
}

func files(dir string) int {
	count := 0
	walk(dir, func(fs.FileInfo) { count++ })
	return count
}

// walk visits the files of a folder that others change meanwhile.
func walk(dir string, visit func(fs.FileInfo)) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if i, err := e.Info(); err == nil {
			visit(i)
		}
		return nil
	})
}

// idleCPU is the processor time a second that the node uses while nobody asks it
// anything, once what was left to do is done.
func idleCPU(t *testing.T, n *process.Node) float64 {
	t.Helper()
	before := cpu(t, n.Pid())
	const look = 2 * time.Second
	least := 1.0
	for range 3 {
		time.Sleep(look)
		now := cpu(t, n.Pid())
		least = min(least, (now-before)/look.Seconds())
		before = now
	}
	fmt.Printf("scale: idle %.1f %% of a processor; %s\n", 100*least, state(n))
	return least
}

// cpu is the processor time that a process has used, in seconds.
func cpu(t *testing.T, pid int) float64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		process.Skip(t, "processor time is read from /proc: %v", err)
	}
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	user, err := strconv.ParseFloat(fields[11], 64)
	require.NoError(t, err)
	system, err := strconv.ParseFloat(fields[12], 64)
	require.NoError(t, err)
	return (user + system) / 100
}
