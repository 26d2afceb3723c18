package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func benchProduceCommand() *cobra.Command {
	var w workload
	cmd := &cobra.Command{
		Use:   "produce",
		Short: "Send records as fast as they are taken, or at a rate",
		Example: `  orrery bench produce --records 1000000 --size 1024 --partitions 100
  orrery bench produce --for 30s --rate 20000 --acks 1 --compression lz4`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := w.check(); err != nil {
				return err
			}
			return w.produce(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	w.flags(cmd)
	f := cmd.Flags()
	f.Int64VarP(&w.records, "records", "n", 1_000_000, "records to send (0: no limit, with --for)")
	f.DurationVar(&w.lasting, "for", 0, "stop after this time (0: when all records are sent)")
	f.DurationVar(&w.linger, "linger", 5*time.Millisecond, "how long a batch waits to fill")
	f.Int64Var(&w.rate, "rate", 0, "records a second (0: as many as are taken)")
	return cmd
}

func (w *workload) produce(ctx context.Context, out, talk io.Writer) error {
	if w.records == 0 && w.lasting == 0 {
		return usage("give --records or --for, or it never ends")
	}
	client, err := w.client(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	var delay histogram
	var refused firstError
	progress := startProgress(talk, "acknowledged", w.quiet)
	began := time.Now()
	sending, cancel := deadline(ctx, w.lasting)
	defer cancel()
	pace, values := pace{began: began, rate: w.rate}, newValues(w.size)
	for n := int64(0); (w.records == 0 || n < w.records) && refused.get() == nil; n++ {
		pace.wait(sending)
		if sending.Err() != nil {
			break
		}
		start := time.Now()
		client.Produce(ctx, &kgo.Record{Value: values.next()}, func(r *kgo.Record, err error) {
			if err != nil {
				refused.set(plain(err))
				return
			}
			took := time.Since(start)
			delay.add(took)
			progress.add(len(r.Value), took)
		})
	}
	if err := client.Flush(ctx); err != nil {
		refused.set(plain(err))
	}
	took := time.Since(began)
	progress.stop()
	if err := refused.get(); err != nil {
		return fmt.Errorf("topic %s: after %d acknowledged records: %w", w.topic, progress.records.Load(), err)
	}
	r := newResult("produce", w.topic, progress.records.Load(), progress.bytes.Load(), took, &delay)
	return r.print(out, w.asJSON)
}

// client is open, and the topic is there.
func (w *workload) client(ctx context.Context, more ...kgo.Opt) (*kgo.Client, error) {
	opts, err := w.options()
	if err != nil {
		return nil, err
	}
	client, err := w.open(ctx, append(opts, more...)...)
	if err != nil {
		return nil, err
	}
	if err := w.prepare(ctx, client); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

// deadline ends after a time, or never.
func deadline(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
	if after == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, after)
}

func benchConsumeCommand() *cobra.Command {
	var w workload
	cmd := &cobra.Command{
		Use:     "consume",
		Short:   "Read a topic from its start to its end",
		Example: `  orrery bench consume --topic bench`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return w.consume(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	w.cluster.flags(cmd)
	w.outputFlags(cmd)
	cmd.Flags().StringVarP(&w.topic, "topic", "t", "bench", "topic to read")
	cmd.Flags().Int64VarP(&w.records, "records", "n", 0, "stop after so many (0: at the end)")
	return cmd
}

func (w *workload) consume(ctx context.Context, out, talk io.Writer) error {
	admin, err := w.admin(ctx)
	if err != nil {
		return err
	}
	o := consumeOptions{cluster: w.cluster, isolation: "uncommitted"}
	left, err := o.resolve(ctx, admin, w.topic, place{kind: placeEarliest}, place{kind: placeLatest})
	admin.Close()
	if err != nil {
		return err
	}
	if len(left) == 0 {
		return fmt.Errorf("topic %s is empty; orrery bench produce fills it", w.topic)
	}
	starts := make(map[int32]kgo.Offset)
	for p, r := range left {
		starts[p] = kgo.NewOffset().At(r.next)
	}
	client, err := w.open(ctx, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{w.topic: starts}), kgo.KeepControlRecords())
	if err != nil {
		return err
	}
	defer client.Close()
	progress := startProgress(talk, "read", w.quiet)
	began := time.Now()
	err = w.drain(ctx, client, left, progress)
	took := time.Since(began)
	progress.stop()
	if err != nil {
		return err
	}
	r := newResult("consume", w.topic, progress.records.Load(), progress.bytes.Load(), took, nil)
	return r.print(out, w.asJSON)
}

// drain reads until every partition has come to the end that it had at first.
func (w *workload) drain(ctx context.Context, client *kgo.Client, left map[int32]reach, progress *progress) error {
	for len(left) > 0 {
		fetches, err := w.poll(ctx, client, false)
		if ctx.Err() != nil {
			return interrupted(false)
		}
		if err != nil {
			return err
		}
		for it := fetches.RecordIter(); !it.Done(); {
			r := it.Next()
			progress.add(len(r.Value), 0)
			if progress.records.Load() == w.records {
				return nil
			}
			if r.Offset+1 >= left[r.Partition].end {
				delete(left, r.Partition)
			}
		}
	}
	return nil
}

func benchLatencyCommand() *cobra.Command {
	var w workload
	var warmUp time.Duration
	cmd := &cobra.Command{
		Use:   "latency",
		Short: "Measure the time from sending a record to reading it",
		Long: `latency sends records at a rate and reads them back in the same process: from
the call that sends a record to the poll that returns it.`,
		Example: `  orrery bench latency --rate 10000 --for 30s --partitions 1`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch err := w.check(); {
			case err != nil:
				return err
			case w.size < 16:
				return usage("--size %d: at least 16, the time of sending is in the record", w.size)
			case w.rate == 0:
				return usage("--rate 0: a rate is needed, at full speed one measures queues")
			case w.lasting == 0:
				return usage("--for 0s: a time is needed")
			}
			return w.latency(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), warmUp)
		},
	}
	w.flags(cmd)
	f := cmd.Flags()
	f.DurationVar(&w.lasting, "for", 20*time.Second, "how long to measure")
	f.DurationVar(&w.linger, "linger", 0, "how long a batch waits to fill")
	f.Int64Var(&w.rate, "rate", 10_000, "records a second")
	f.DurationVar(&warmUp, "warm-up", 2*time.Second, "time before that which is not counted")
	return cmd
}

func (w *workload) latency(ctx context.Context, out, talk io.Writer, warmUp time.Duration) error {
	client, err := w.client(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	ends, err := admin.ListEndOffsets(ctx, w.topic)
	if err != nil {
		return plain(err)
	}
	starts := make(map[int32]kgo.Offset)
	for p, end := range ends[w.topic] {
		if end.Err != nil {
			return fmt.Errorf("topic %s partition %d: %w", w.topic, p, plain(end.Err))
		}
		starts[p] = kgo.NewOffset().At(end.Offset)
	}
	reader, err := w.open(ctx, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{w.topic: starts}), kgo.FetchMinBytes(1), kgo.FetchMaxWait(time.Second))
	if err != nil {
		return err
	}
	defer reader.Close()

	progress := startProgress(talk, "read", w.quiet)
	began := time.Now()
	var delay histogram
	var refused firstError
	reading, stop := context.WithCancel(ctx)
	defer stop()
	sent := make(chan int64, 1) // how many were acknowledged, once
	go func() { sent <- w.sendStamped(reading, client, began, warmUp, &refused) }()
	bytes, counted, err := w.readStamped(reading, reader, began, warmUp, sent, &delay, progress)
	stop()
	progress.stop()
	if refusal := refused.get(); refusal != nil {
		return fmt.Errorf("topic %s: %w", w.topic, refusal)
	}
	if err != nil {
		return err
	}
	r := newResult("latency", w.topic, counted, bytes, w.lasting, &delay)
	return r.print(out, w.asJSON)
}

// sendStamped sends at the rate; each record holds the time since began, and
// whose it is: a number that this run alone has.
func (w *workload) sendStamped(ctx context.Context, client *kgo.Client, began time.Time, warmUp time.Duration, refused *firstError) int64 {
	sending, cancel := context.WithTimeout(ctx, warmUp+w.lasting)
	defer cancel()
	pace, values, n := pace{began: began, rate: w.rate}, newValues(w.size), int64(0)
	for refused.get() == nil {
		pace.wait(sending)
		if sending.Err() != nil {
			break
		}
		value := append([]byte(nil), values.next()...)
		binary.BigEndian.PutUint64(value, uint64(began.UnixNano()))
		binary.BigEndian.PutUint64(value[8:], uint64(time.Since(began)))
		client.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				refused.set(plain(err))
			}
		})
		n++
	}
	if err := client.Flush(ctx); err != nil {
		refused.set(plain(err))
	}
	return n
}

// readStamped reads until all that was sent has come, or nothing has come for a
// whole timeout after the last was sent.
func (w *workload) readStamped(ctx context.Context, reader *kgo.Client, began time.Time, warmUp time.Duration, sent <-chan int64, delay *histogram, progress *progress) (bytes, counted int64, err error) {
	mine, expected, last := int64(0), int64(-1), time.Now()
	for expected < 0 || mine < expected {
		polling, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		fetches := reader.PollFetches(polling)
		nothing := polling.Err() != nil
		cancel()
		now := time.Since(began)
		switch {
		case ctx.Err() != nil:
			return 0, 0, interrupted(false)
		case expected >= 0 && time.Since(last) > w.timeout:
			return 0, 0, fmt.Errorf("%d of %d records never came", expected-mine, expected)
		case !nothing:
			if err := fetchError(fetches); err != nil {
				return 0, 0, err
			}
			last = time.Now()
		}
		for it := fetches.RecordIter(); !it.Done(); {
			r := it.Next()
			if len(r.Value) < 16 || binary.BigEndian.Uint64(r.Value) != uint64(began.UnixNano()) {
				continue // another bench's
			}
			mine++
			at := time.Duration(binary.BigEndian.Uint64(r.Value[8:]))
			progress.add(len(r.Value), now-at)
			if at >= warmUp {
				delay.add(now - at)
				bytes += int64(len(r.Value))
				counted++
			}
		}
		select {
		case expected = <-sent:
		default:
		}
	}
	return bytes, counted, nil
}
