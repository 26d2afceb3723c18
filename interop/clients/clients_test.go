package clients

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/orrery-log/orrery/interop/process"
)

func TestMain(m *testing.M) {
	code := m.Run()
	process.Clean()
	os.Exit(code)
}

var cache = filepath.Join(process.Root(), "interop", ".cache")

// bootstrap is the broker that all clients of this run share.
func bootstrap(t *testing.T) string {
	if at := os.Getenv("CLIENTS_BOOTSTRAP"); at != "" {
		return at
	}
	return process.Start(t, process.Options{}).Addr
}

// script runs one client's script, with a time limit.
func script(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %v:\n%s", name, args, out)
	fmt.Print("clients: ", string(out))
}

// installed gives the path of an installed thing, or skips.
func installed(t *testing.T, name string, path ...string) string {
	t.Helper()
	at := filepath.Join(append([]string{cache}, path...)...)
	if _, err := os.Stat(at); err != nil {
		process.Skip(t, "%s is not installed: interop/setup.sh installs it", name)
	}
	return at
}

const records = "1000"

func topicName(t *testing.T, name string) string {
	t.Helper()
	if os.Getenv("CLIENTS_BOOTSTRAP") == "" {
		return name
	}
	return fmt.Sprintf("%s-%d", name, time.Now().UnixNano()) // the broker is not ours alone
}

func TestClientsWriteAndReadWhatTheyWrote(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a process for each client; run it without -short")
	}
	at := bootstrap(t)
	t.Run("kafka-python 3", func(t *testing.T) {
		script(t, nil, installed(t, "kafka-python 3", "kafka-python-3", "bin", "python"), "kafka_python_3.py", at, topicName(t, "test"), records)
	})
	t.Run("kafka-python 2.0.2", func(t *testing.T) {
		script(t, nil, installed(t, "kafka-python 2.0.2", "kafka-python-2", "bin", "python"), "kafka_python_2.py", at, topicName(t, "test-2"), records)
	})
	t.Run("confluent-kafka", func(t *testing.T) {
		script(t, nil, installed(t, "confluent-kafka", "confluent", "bin", "python"), "confluent.py", at, topicName(t, "confluent"), records)
	})
	t.Run("kcat", func(t *testing.T) {
		if _, err := exec.LookPath("kcat"); err != nil {
			process.Skip(t, "kcat is not installed: interop/setup.sh installs it")
		}
		topic := topicName(t, "kcat")
		script(t, nil, "./kcat.sh", at, topic, records)
		for codec, name := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
			packed := 0
			for _, b := range stored(t, at, topic+"-"+name) {
				// librdkafka sends a batch as it is when packing makes it no smaller, as with one short record.
				if b.codec == 0 && b.bytes < 300 {
					continue
				}
				require.Equal(t, codec, b.codec, "a batch of %d bytes of the %s producer is stored with another codec", b.bytes, name)
				packed++
			}
			require.NotZero(t, packed, "no batch of the %s producer", name)
		}
	})
	t.Run("kafkajs", func(t *testing.T) {
		modules := installed(t, "kafkajs", "kafkajs", "node_modules")
		if _, err := exec.LookPath("node"); err != nil {
			process.Skip(t, "node is not installed: interop/setup.sh installs it")
		}
		topic := topicName(t, "kafkajs")
		script(t, []string{"NODE_PATH=" + modules}, "node", "kafkajs.js", at, topic, records)
		require.Len(t, consume(t, at, topic, 3000), 3000)
	})
	t.Run("franz-go", func(t *testing.T) {
		topic := topicName(t, "franz")
		want := map[string]string{}
		for _, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
			produce(t, at, topic, want, fmt.Sprint(codec), kgo.ProducerBatchCompression(codec))
		}
		produce(t, at, topic, want, "acks 1", kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
		require.Equal(t, want, consume(t, at, topic, len(want)))
	})
}

func client(t *testing.T, at string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(at), kgo.AllowAutoTopicCreation()}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func produce(t *testing.T, at, topic string, want map[string]string, label string, opts ...kgo.Opt) {
	t.Helper()
	c := client(t, at, opts...)
	var rs []*kgo.Record
	for i := range 1000 {
		key, value := fmt.Sprintf("%s-%d", label, i), fmt.Sprintf("value %d", i)
		want[key] = value
		rs = append(rs, &kgo.Record{Topic: topic, Key: []byte(key), Value: []byte(value)})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, c.ProduceSync(ctx, rs...).FirstErr())
}

// consume reads n records from the beginning and fails on a key seen twice.
func consume(t *testing.T, at, topic string, n int) map[string]string {
	t.Helper()
	c := client(t, at, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := map[string]string{}
	for len(got) < n {
		fetches := c.PollFetches(ctx)
		require.NoError(t, fetches.Err(), "after %d of %d records", len(got), n)
		fetches.EachRecord(func(r *kgo.Record) {
			require.NotContains(t, got, string(r.Key), "a record came twice")
			got[string(r.Key)] = string(r.Value)
		})
	}
	return got
}

// storedBatch is what a batch is like in the log.
type storedBatch struct{ codec, bytes int }

// stored are the batches stored in partition 0 of a topic, read by raw fetches.
func stored(t *testing.T, at, topic string) []storedBatch {
	t.Helper()
	c := client(t, at, kgo.MaxVersions(kversion.V2_5_0())) // a Fetch by name, not by topic id
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all []storedBatch
	for offset := int64(0); ; {
		req := kmsg.NewPtrFetchRequest()
		req.MaxWaitMillis, req.MaxBytes, req.SessionEpoch = 0, 1<<20, -1
		ft := kmsg.NewFetchRequestTopic()
		ft.Topic = topic
		fp := kmsg.NewFetchRequestTopicPartition()
		fp.FetchOffset, fp.PartitionMaxBytes = offset, 1<<20
		ft.Partitions = append(ft.Partitions, fp)
		req.Topics = append(req.Topics, ft)
		resp, err := c.Broker(1).Request(ctx, req)
		require.NoError(t, err)
		p := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
		require.Zero(t, p.ErrorCode)
		if offset >= p.HighWatermark {
			return all
		}
		for b := p.RecordBatches; len(b) >= 61 && int(binary.BigEndian.Uint32(b[8:]))+12 <= len(b); b = b[binary.BigEndian.Uint32(b[8:])+12:] {
			all = append(all, storedBatch{int(binary.BigEndian.Uint16(b[21:]) & 7), int(binary.BigEndian.Uint32(b[8:])) + 12})
			offset = int64(binary.BigEndian.Uint64(b)) + int64(binary.BigEndian.Uint32(b[23:])) + 1
		}
	}
}
