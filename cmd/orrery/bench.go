package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func benchCommand() *cobra.Command {
	return group("bench", "Measure produce, consume and end-to-end latency of any Kafka-protocol broker",
		`bench measures a broker from one client process on this machine: progress every
second on stderr, then a table on stdout. MB are 10^6 bytes of record values.`,
		`  orrery bench produce --records 1000000 --size 1024
  orrery bench consume
  orrery bench latency --rate 10000 --for 30s`,
		benchProduceCommand(), benchConsumeCommand(), benchLatencyCommand())
}

// workload is what the benches that produce are told.
type workload struct {
	cluster
	topic       string
	partitions  int32
	records     int64
	lasting     time.Duration
	size        int
	acks        string
	linger      time.Duration
	batch       int32
	compression string
	rate        int64
	idempotent  bool
	asJSON      bool
	quiet       bool
}

func (w *workload) flags(cmd *cobra.Command) {
	w.cluster.flags(cmd)
	w.outputFlags(cmd)
	f := cmd.Flags()
	f.StringVarP(&w.topic, "topic", "t", "bench", "topic; made when it is not there")
	f.Int32VarP(&w.partitions, "partitions", "p", 1, "partitions of the topic when it is made")
	f.IntVarP(&w.size, "size", "s", 1024, "bytes of a record's value")
	f.StringVar(&w.acks, "acks", "all", "all, 1 or 0")
	f.Int32Var(&w.batch, "batch", 1<<20, "the largest batch, in bytes")
	f.StringVarP(&w.compression, "compression", "z", "none", "none, gzip, snappy, lz4 or zstd; half of each value compresses well")
	f.BoolVar(&w.idempotent, "idempotent", true, "produce idempotently (with acks all)")
}

func (w *workload) outputFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.asJSON, "json", false, "the result as one JSON object instead of a table")
	cmd.Flags().BoolVarP(&w.quiet, "quiet", "q", false, "no progress")
}

// check refuses what can not be run.
func (w *workload) check() error {
	switch {
	case w.size < 1:
		return usage("--size %d: a record has at least one byte here", w.size)
	case w.records < 0 || w.rate < 0 || w.lasting < 0:
		return usage("--records, --rate and --for can not be negative")
	case w.partitions < 1:
		return usage("--partitions %d: a topic has at least one", w.partitions)
	}
	return nil
}

// options are the client's for this workload.
func (w *workload) options() ([]kgo.Opt, error) {
	acks, err := acksByName(w.acks)
	if err != nil {
		return nil, err
	}
	codec, err := codecByName(w.compression)
	if err != nil {
		return nil, err
	}
	opts := []kgo.Opt{
		kgo.DefaultProduceTopic(w.topic), kgo.RequiredAcks(acks), kgo.ProducerBatchCompression(codec),
		kgo.ProducerBatchMaxBytes(w.batch), kgo.ProducerLinger(w.linger),
		kgo.MaxBufferedRecords(1 << 20), kgo.MaxBufferedBytes(32 << 20),
	}
	if !w.idempotent || acks != kgo.AllISRAcks() {
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(5))
	}
	return opts, nil
}

// prepare makes the topic when it is not there.
func (w *workload) prepare(ctx context.Context, client *kgo.Client) error {
	admin := kadm.NewClient(client)
	answer, err := admin.CreateTopic(ctx, w.partitions, -1, nil, w.topic)
	if err == nil {
		err = answer.Err
	}
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return fmt.Errorf("topic %s: %w", w.topic, told(err, answer.ErrMessage))
	}
	return nil
}

// values are record values to send one after the other: half random, half a
// repeated line, so that compression has something to do and something it can not.
type values struct {
	pool []byte
	size int
	at   int
}

func newValues(size int) *values {
	rng := rand.New(rand.NewPCG(42, uint64(size)))
	line := []byte("the planets go round the sun; ")
	pool := make([]byte, max(1<<20, 4*size))
	for i := range pool {
		if (i/32)%2 == 0 {
			pool[i] = byte(rng.Uint32())
		} else {
			pool[i] = line[i%len(line)]
		}
	}
	return &values{pool: pool, size: size}
}

// next shares the pool's memory: nobody writes to a value.
func (v *values) next() []byte {
	if v.at += 61; v.at+v.size > len(v.pool) {
		v.at %= 61
	}
	return v.pool[v.at : v.at+v.size]
}

// pace holds a stream back to a rate.
type pace struct {
	began time.Time
	rate  int64 // a second, 0: none
	sent  int64
}

// wait returns when the next one is due, or the context is done.
func (p *pace) wait(ctx context.Context) {
	p.sent++
	if p.rate == 0 {
		return
	}
	due := p.began.Add(time.Duration(float64(p.sent-1) / float64(p.rate) * float64(time.Second)))
	if ahead := time.Until(due); ahead > time.Millisecond { // a finer pace than the timer's is made of small bursts
		select {
		case <-time.After(ahead):
		case <-ctx.Done():
		}
	}
}

// progress says every second how far a bench has come.
type progress struct {
	records, bytes atomic.Int64
	delay          histogram // of the current second
	stopped        chan struct{}
	done           chan struct{}
}

func startProgress(talk io.Writer, verb string, quiet bool) *progress {
	p := &progress{stopped: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		began, before, records, bytes := time.Now(), time.Now(), int64(0), int64(0)
		for {
			select {
			case <-p.stopped:
				return
			case now := <-tick.C:
				r, b := p.records.Load(), p.bytes.Load()
				seconds := now.Sub(before).Seconds()
				if !quiet {
					line := fmt.Sprintf("%4.0fs  %s %d records  %.0f/s  %.1f MB/s", now.Sub(began).Seconds(), verb, r, float64(r-records)/seconds, float64(b-bytes)/seconds/1e6)
					if p.delay.max() > 0 {
						line += fmt.Sprintf("  p50 %s  p99 %s", ms(p.delay.quantile(500)), ms(p.delay.quantile(990)))
					}
					fmt.Fprintln(talk, line)
				}
				p.delay.reset()
				before, records, bytes = now, r, b
			}
		}
	}()
	return p
}

// add counts a record; delay 0 is none.
func (p *progress) add(size int, delay time.Duration) {
	p.records.Add(1)
	p.bytes.Add(int64(size))
	if delay > 0 {
		p.delay.add(delay)
	}
}

func (p *progress) stop() {
	close(p.stopped)
	<-p.done
}

// result is what a bench found.
type result struct {
	Bench      string  `json:"bench"`
	Topic      string  `json:"topic"`
	Records    int64   `json:"records"`
	Bytes      int64   `json:"bytes"`
	Seconds    float64 `json:"seconds"`
	PerSecond  float64 `json:"records_per_second"`
	MBs        float64 `json:"mb_per_second"`
	MeanMillis float64 `json:"mean_ms,omitempty"`
	P50Millis  float64 `json:"p50_ms,omitempty"`
	P99Millis  float64 `json:"p99_ms,omitempty"`
	P999Millis float64 `json:"p99_9_ms,omitempty"`
	MaxMillis  float64 `json:"max_ms,omitempty"`
}

func newResult(bench, topic string, records, bytes int64, took time.Duration, delay *histogram) result {
	s := max(took.Seconds(), 1e-9)
	r := result{Bench: bench, Topic: topic, Records: records, Bytes: bytes, Seconds: s, PerSecond: float64(records) / s, MBs: float64(bytes) / s / 1e6}
	if delay != nil {
		r.MeanMillis, r.MaxMillis = millis(delay.mean()), millis(delay.max())
		r.P50Millis, r.P99Millis, r.P999Millis = millis(delay.quantile(500)), millis(delay.quantile(990)), millis(delay.quantile(999))
	}
	return r
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", millis(d)) }

func (r *result) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	t := table(out)
	fmt.Fprintf(t, "bench\t%s\n", r.Bench)
	fmt.Fprintf(t, "topic\t%s\n", r.Topic)
	fmt.Fprintf(t, "records\t%d\n", r.Records)
	fmt.Fprintf(t, "time\t%.2f s\n", r.Seconds)
	fmt.Fprintf(t, "records/s\t%.0f\n", r.PerSecond)
	fmt.Fprintf(t, "MB/s\t%.1f\n", r.MBs)
	if r.MaxMillis > 0 {
		fmt.Fprintf(t, "latency\tmean %.2f  p50 %.2f  p99 %.2f  p99.9 %.2f  max %.2f ms\n", r.MeanMillis, r.P50Millis, r.P99Millis, r.P999Millis, r.MaxMillis)
	}
	return t.Flush()
}
