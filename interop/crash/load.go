package crash

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/orrery-log/orrery/linearizability"
)

// load is clients that write and read one topic through kills of its broker, and
// the history of what they saw.
type load struct {
	addr       string
	topic      string
	partitions int32
	history    linearizability.Recorder

	ids      atomic.Uint64
	process  atomic.Int64
	inFlight atomic.Int64 // produce requests written to the broker and not answered
	acked    atomic.Int64

	stop    context.CancelFunc // ends producers and readers
	ctx     context.Context
	writers sync.WaitGroup
	readers sync.WaitGroup

	mu     sync.Mutex
	errors []string // refusals that no kill explains
}

// begin starts writers and a reader for each partition. The broker may come later.
func begin(addr, topic string, partitions int32, writers int, large bool) (*load, error) {
	l := &load{addr: addr, topic: topic, partitions: partitions}
	l.ctx, l.stop = context.WithCancel(context.Background())
	for range writers {
		c, err := l.client(
			kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()),
			kgo.ProducerLinger(0), kgo.ProducerBatchMaxBytes(1<<20), kgo.MaxBufferedRecords(1000), kgo.WithHooks(&hooks{l}),
		)
		if err != nil {
			return nil, err
		}
		l.writers.Add(1)
		go l.write(c, large)
	}
	for p := range partitions {
		c, err := l.client(kgo.MaxVersions(kversion.V2_5_0())) // a Fetch by name
		if err != nil {
			return nil, err
		}
		l.readers.Add(1)
		go func() {
			defer l.readers.Done()
			defer c.Close()
			l.read(c, p)
		}()
	}
	return l, nil
}

func (l *load) client(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(l.addr), kgo.MetadataMinAge(20 * time.Millisecond), kgo.MetadataMaxAge(10 * time.Second),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }), kgo.DialTimeout(time.Second),
	}, opts...)...)
}

// hooks count the produce requests on their way.
type hooks struct{ l *load }

func (h *hooks) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if key == 0 && err == nil {
		h.l.inFlight.Add(1)
	}
}

func (h *hooks) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e kgo.BrokerE2E) {
	if key == 0 && e.WriteErr == nil {
		h.l.inFlight.Add(-1)
	}
}

// write is one producer session. Its requests are retried through every kill, so
// each record comes to an end; that is an acknowledgement, or the session fails.
func (l *load) write(c *kgo.Client, large bool) {
	defer l.writers.Done()
	defer c.Close()
	process := l.process.Add(1)
	rng := rand.New(rand.NewPCG(uint64(process), 1))
	slots := make(chan struct{}, 32) // records not acknowledged yet
	var failed atomic.Bool
	for l.ctx.Err() == nil && !failed.Load() {
		select {
		case slots <- struct{}{}:
		case <-l.ctx.Done():
			continue
		}
		id := l.ids.Add(1)
		value := make([]byte, 8+size(rng, large))
		for i := range value[8:] {
			value[8+i] = byte(id) + byte(i)
		}
		binary.BigEndian.PutUint64(value, id)
		partition := rng.Int32N(l.partitions)
		began := l.history.Invoke(linearizability.Operation{
			Process: process, Op: linearizability.Produce, Topic: l.topic, Partition: partition, Idempotent: true,
			Sent: []linearizability.Record{{ID: id, Sum: linearizability.Sum(value)}},
		})
		c.Produce(context.Background(), &kgo.Record{Topic: l.topic, Partition: partition, Value: value}, func(r *kgo.Record, err error) {
			result := linearizability.NoResult()
			result.Attempts = -1
			if err != nil {
				l.history.Done(began, linearizability.Unknown, result)
				l.complain("producer %d: %v", process, err)
				failed.Store(true)
			} else {
				result.Base = r.Offset
				l.history.Done(began, linearizability.OK, result)
				l.acked.Add(1)
			}
			<-slots
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if err := c.Flush(ctx); err != nil {
		l.complain("producer %d: not everything was acknowledged at the end: %v", process, err)
	}
}

// size draws a record's size: most are small, and large ones make torn writes likely.
func size(rng *rand.Rand, large bool) int {
	switch n := rng.IntN(20); {
	case large && n < 4:
		return 20_000 + rng.IntN(300_000)
	case n < 12:
		return rng.IntN(200)
	default:
		return rng.IntN(5000)
	}
}

func (l *load) complain(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errors = append(l.errors, fmt.Sprintf(format, args...))
}

// read polls one partition from offset 0 for as long as the load runs.
func (l *load) read(c *kgo.Client, partition int32) {
	process := l.process.Add(1)
	offset := int64(0)
	for l.ctx.Err() == nil {
		next, _, err := l.poll(l.ctx, c, process, partition, offset)
		if err != nil {
			select {
			case <-l.ctx.Done():
			case <-time.After(10 * time.Millisecond):
			}
			continue
		}
		offset = next
		l.latest(l.ctx, c, process, partition)
	}
}

// latest asks where the log ends.
func (l *load) latest(ctx context.Context, c *kgo.Client, process int64, partition int32) {
	req := kmsg.NewPtrListOffsetsRequest()
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = l.topic
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = partition, -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	began := l.history.Invoke(linearizability.Operation{Process: process, Op: linearizability.Latest, Topic: l.topic, Partition: partition})
	resp, err := c.Broker(1).Request(ctx, req)
	if err != nil {
		l.history.Done(began, linearizability.Unknown, linearizability.NoResult())
		return
	}
	answer := resp.(*kmsg.ListOffsetsResponse)
	if len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 || answer.Topics[0].Partitions[0].ErrorCode != 0 {
		l.history.Done(began, linearizability.Fail, linearizability.NoResult())
		return
	}
	result := linearizability.NoResult()
	result.End = answer.Topics[0].Partitions[0].Offset
	l.history.Done(began, linearizability.OK, result)
}

// poll is one Fetch. It gives the next offset and the high watermark.
func (l *load) poll(ctx context.Context, c *kgo.Client, process int64, partition int32, offset int64) (next, hw int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 200, 1, 4<<20, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic = l.topic
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, 4<<20
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	began := l.history.Invoke(linearizability.Operation{Process: process, Op: linearizability.Poll, Topic: l.topic, Partition: partition, Offset: offset})
	resp, err := c.Broker(1).Request(ctx, req)
	if err != nil {
		l.history.Done(began, linearizability.Unknown, linearizability.NoResult())
		return offset, 0, err
	}
	answer := resp.(*kmsg.FetchResponse)
	if len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 || answer.Topics[0].Partitions[0].ErrorCode != 0 {
		l.history.Done(began, linearizability.Fail, linearizability.NoResult())
		if len(answer.Topics) == 1 && len(answer.Topics[0].Partitions) == 1 && answer.Topics[0].Partitions[0].ErrorCode == 1 {
			l.complain("partition %d: offset %d is out of range, its end is %d", partition, offset, answer.Topics[0].Partitions[0].HighWatermark)
		}
		return offset, 0, errors.New("the fetch was refused")
	}
	got := answer.Topics[0].Partitions[0]
	result := linearizability.NoResult()
	result.End, result.Start = got.HighWatermark, got.LogStartOffset
	next = offset
	for _, r := range records(got.RecordBatches) {
		if r.Offset >= offset {
			result.Records = append(result.Records, r)
			next = r.Offset + 1
		}
	}
	l.history.Done(began, linearizability.OK, result)
	return next, got.HighWatermark, nil
}

// records reads the uncompressed batches of a Fetch.
func records(b []byte) []linearizability.Record {
	var out []linearizability.Record
	for len(b) >= 61 {
		size := int(binary.BigEndian.Uint32(b[8:])) + 12
		if size > len(b) {
			break
		}
		var batch kmsg.RecordBatch
		if err := batch.ReadFrom(b[:size]); err != nil {
			out = append(out, linearizability.Record{ID: 1 << 62, Offset: int64(binary.BigEndian.Uint64(b))}) // nobody sent that
			break
		}
		b = b[size:]
		at := batch.Records
		for range batch.NumRecords {
			length, n := binary.Varint(at)
			if n <= 0 || length < 0 || n+int(length) > len(at) {
				out = append(out, linearizability.Record{ID: 1 << 62, Offset: batch.FirstOffset})
				break
			}
			var r kmsg.Record
			if err := r.ReadFrom(at[:n+int(length)]); err != nil || len(r.Value) < 8 {
				out = append(out, linearizability.Record{ID: 1 << 62, Offset: batch.FirstOffset})
				break
			}
			at = at[n+int(length):]
			out = append(out, linearizability.Record{
				ID: binary.BigEndian.Uint64(r.Value), Offset: batch.FirstOffset + int64(r.OffsetDelta), Sum: linearizability.Sum(r.Value),
			})
		}
	}
	return out
}

// end stops the load, waits for what is not acknowledged yet, and reads every
// partition to its end; the broker is up.
func (l *load) end() error {
	l.stop()
	l.writers.Wait()
	l.readers.Wait()
	c, err := l.client(kgo.MaxVersions(kversion.V2_5_0()))
	if err != nil {
		return err
	}
	defer c.Close()
	process := l.process.Add(1)
	for p := range l.partitions {
		offset := int64(0)
		for refused := 0; ; {
			next, hw, err := l.poll(context.Background(), c, process, p, offset)
			if err != nil {
				if refused++; refused > 100 {
					return fmt.Errorf("reading partition %d at %d at the end: %w", p, offset, err)
				}
				time.Sleep(20 * time.Millisecond)
				continue
			}
			offset = next
			if next >= hw {
				break
			}
		}
	}
	l.history.Note(linearizability.Final, "every partition was read to its end")
	return nil
}

// freePort is a port below those that outgoing connections take.
func freePort(rng *rand.Rand) (string, error) {
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20000+rng.IntN(12000))
		if l, err := net.Listen("tcp", addr); err == nil {
			return addr, l.Close()
		}
	}
	return "", errors.New("no port is free")
}
