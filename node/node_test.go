package node

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	gonet "net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/disk"
)

func settings(t *testing.T, dir string, sets ...string) Settings {
	t.Helper()
	s, err := Load("", nil, append([]string{"listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=" + dir}, sets...))
	require.NoError(t, err)
	return s
}

func startNode(t *testing.T, s Settings) *Node {
	t.Helper()
	n, err := Start(s, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { n.Close() })
	select {
	case <-n.Ready():
	case <-n.Ended():
		t.Fatalf("the node ended: %v", n.Close())
	case <-time.After(time.Minute):
		t.Fatal("not ready within a minute")
	}
	return n
}

func client(t *testing.T, n *Node, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(n.Address())}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func produceN(t *testing.T, c *kgo.Client, topic string, from, to int) {
	t.Helper()
	var all []*kgo.Record
	for i := from; i < to; i++ {
		all = append(all, &kgo.Record{Topic: topic, Partition: 0, Value: fmt.Appendf(nil, "record %d", i)})
	}
	require.NoError(t, c.ProduceSync(soon(t), all...).FirstErr())
}

func consumeN(t *testing.T, n *Node, topic string, count int) []string {
	t.Helper()
	c := client(t, n, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	var values []string
	ctx := soon(t)
	for len(values) < count {
		fetches := c.PollFetches(ctx)
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			require.EqualValues(t, len(values), r.Offset)
			values = append(values, string(r.Value))
		})
	}
	return values
}

func numbered(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("record %d", i))
	}
	return all
}

func TestWhatWasAcknowledgedIsThereAfterEachRestart(t *testing.T) {
	dir := t.TempDir()
	for life := range 3 {
		n := startNode(t, settings(t, dir))
		c := client(t, n)
		if life == 0 {
			_, err := kadm.NewClient(c).CreateTopic(soon(t), 1, 1, nil, "t")
			require.NoError(t, err)
		}
		produceN(t, c, "t", life*1000, (life+1)*1000)
		require.Equal(t, numbered((life+1)*1000), consumeN(t, n, "t", (life+1)*1000))
		require.NoError(t, n.Close())
	}
}

func TestTopicIsCreatedByItsFirstProducer(t *testing.T) {
	n := startNode(t, settings(t, t.TempDir()))
	produceN(t, client(t, n, kgo.AllowAutoTopicCreation()), "fresh", 0, 10)
	require.Equal(t, numbered(10), consumeN(t, n, "fresh", 10))
}

func TestRunSaysReadyOnceAndEndsCleanlyWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	out, in := io.Pipe()
	said := make(chan string, 1)
	go func() {
		all := new(strings.Builder)
		first := make([]byte, 100)
		n, _ := out.Read(first)
		all.Write(first[:n])
		stop()
		io.Copy(all, out)
		said <- all.String()
	}()
	s := settings(t, t.TempDir(), "orrery.http.address=127.0.0.1:0")
	require.NoError(t, Run(ctx, s, in, slog.New(slog.DiscardHandler)))
	in.Close()
	require.Regexp(t, `^ready 127\.0\.0\.1:[1-9]\d*\n$`, <-said)
}

func TestStopAnswersWhatIsInFlight(t *testing.T) {
	n := startNode(t, settings(t, t.TempDir()))
	c := client(t, n, kgo.AllowAutoTopicCreation(), kgo.RecordRetries(0))
	produceN(t, c, "t", 0, 1)
	var flying sync.WaitGroup
	acked := make(chan error, 1000)
	for i := range 1000 {
		flying.Add(1)
		c.Produce(soon(t), &kgo.Record{Topic: "t", Value: fmt.Appendf(nil, "record %d", i+1)}, func(_ *kgo.Record, err error) {
			acked <- err
			flying.Done()
		})
	}
	flying.Wait()
	require.NoError(t, n.Close())
	require.NoError(t, n.Close(), "again")
	for range 1000 {
		require.NoError(t, <-acked)
	}
	_, err := gonet.Dial("tcp", n.Address())
	require.Error(t, err)
}

func TestPortInUseAndDirectoryInUseAreSaid(t *testing.T) {
	dir := t.TempDir()
	n := startNode(t, settings(t, dir))
	log := slog.New(slog.DiscardHandler)
	_, err := Start(settings(t, t.TempDir(), "listeners=PLAINTEXT://"+n.Address()), log)
	require.ErrorContains(t, err, "is in use: stop what uses it, or set another port in listeners")
	_, err = Start(settings(t, dir), log)
	require.ErrorContains(t, err, dir)
	require.NoError(t, n.Close())
	_, err = Start(settings(t, dir, "node.id=7"), log)
	require.EqualError(t, err, "the data directory belongs to node.id 1 and node.id is 7: set node.id=1, or use another log.dirs")
	again := startNode(t, settings(t, dir))
	require.NoError(t, again.Close())
}

func TestClusterKeepsItsIDAndEachLifeHasItsOwnSeed(t *testing.T) {
	dir := t.TempDir()
	var ids []string
	for range 2 {
		n := startNode(t, settings(t, dir))
		m, err := kadm.NewClient(client(t, n)).BrokerMetadata(soon(t))
		require.NoError(t, err)
		ids = append(ids, m.Cluster)
		require.NoError(t, n.Close())
	}
	require.Len(t, ids[0], 22)
	require.Equal(t, ids[0], ids[1])
}

func TestHealthAndMetricsAreServed(t *testing.T) {
	n := startNode(t, settings(t, t.TempDir()))
	produceN(t, client(t, n, kgo.AllowAutoTopicCreation()), "t", 0, 5)
	s := httptest.NewServer(n.metrics.handler())
	defer s.Close()
	get := func(path string) (int, string) {
		r, err := http.Get(s.URL + path)
		require.NoError(t, err)
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return r.StatusCode, string(body)
	}
	code, body := get("/healthz")
	require.Equal(t, 200, code)
	require.Equal(t, "ready\n", body)
	_, body = get("/metrics")
	require.Regexp(t, `(?m)^orrery_connections [1-9]`, body)
	require.Regexp(t, `(?m)^orrery_request_seconds_count\{api="Produce"\} [1-9]`, body)
	require.NoError(t, n.Close())
	code, _ = get("/healthz")
	require.Equal(t, 503, code)
}

func TestAcceptedLossIsForgottenWhenItIsJournaled(t *testing.T) {
	dir := t.TempDir()
	n := startNode(t, settings(t, dir))
	created, err := kadm.NewClient(client(t, n)).CreateTopic(soon(t), 1, 1, nil, "t")
	require.NoError(t, err)
	require.NoError(t, n.Close())

	for _, log := range []env.LogID{{Topic: created.ID}, {Topic: [16]byte{1}, Partition: 3}} {
		require.NoError(t, disk.AcceptLoss(dir, log))
		n = startNode(t, settings(t, dir))
		produceN(t, client(t, n), "t", 0, 1) // its entry lies behind those of the start
		left, err := n.disk.AcceptedLosses()
		require.NoError(t, err)
		require.Empty(t, left)
		require.NoError(t, n.Close())
	}
}

func BenchmarkStartToReady(b *testing.B) {
	s, err := Load("", nil, []string{"listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=" + b.TempDir()})
	require.NoError(b, err)
	for b.Loop() {
		n, err := Start(s, slog.New(slog.DiscardHandler))
		require.NoError(b, err)
		<-n.Ready()
		b.StopTimer()
		require.NoError(b, n.Close())
		b.StartTimer()
	}
}
