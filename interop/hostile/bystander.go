package hostile

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/orrery-log/orrery/interop/process"
)

// bystander is a client that minds its own business: it writes a record and
// waits until it has read it, again and again.
type bystander struct {
	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex
	trips   int
	slowest time.Duration
	err     error
}

func watch(addr string) (*bystander, error) {
	ctx, cancel := context.WithCancel(context.Background())
	b := &bystander{stop: cancel, done: make(chan struct{})}
	const topic = "bystander"
	c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(0),
		kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(time.Second))
	if err != nil {
		cancel()
		return nil, err
	}
	// The topic and the connections are there before anything is measured.
	for range 3 {
		if err := b.trip(ctx, c); err != nil {
			cancel()
			return nil, err
		}
	}
	b.trips, b.slowest = 0, 0
	go func() {
		defer close(b.done)
		defer c.Close()
		for ctx.Err() == nil {
			if err := b.trip(ctx, c); err != nil && ctx.Err() == nil {
				b.mu.Lock()
				b.err = err
				b.mu.Unlock()
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return b, nil
}

// trip writes a record and reads it back.
func (b *bystander) trip(ctx context.Context, c *kgo.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	began := time.Now()
	sent, err := c.ProduceSync(ctx, kgo.StringRecord(fmt.Sprint(began.UnixNano()))).First()
	if err != nil {
		return fmt.Errorf("the bystander could not write: %w", err)
	}
	for seen := false; !seen; {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("the bystander could not read: %w", err)
		}
		fetches.EachRecord(func(r *kgo.Record) { seen = seen || r.Offset == sent.Offset && r.Partition == sent.Partition })
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trips++
	b.slowest = max(b.slowest, time.Since(began))
	return nil
}

// take gives what was measured since the last take.
func (b *bystander) take() (trips int, slowest time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	trips, slowest, err = b.trips, b.slowest, b.err
	b.trips, b.slowest = 0, 0
	return trips, slowest, err
}

// end stops the bystander; it may be called again.
func (b *bystander) end() {
	b.stop()
	<-b.done
}

// memory samples a process's resident memory until it is stopped.
type memory struct {
	stop chan struct{}
	done chan struct{}
	peak int64
	all  []int64 // one sample each half second
}

func sample(n *process.Node) *memory {
	m := &memory{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(m.done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			rss := n.RSS()
			m.peak = max(m.peak, rss)
			if i%10 == 0 {
				m.all = append(m.all, rss)
			}
			select {
			case <-m.stop:
				return
			case <-tick.C:
			}
		}
	}()
	return m
}

func (m *memory) end() {
	close(m.stop)
	<-m.done
}

// String is the curve in MiB.
func (m *memory) String() string {
	s := fmt.Sprintf("peak %d MiB:", m.peak>>20)
	for _, b := range m.all {
		s += fmt.Sprintf(" %d", b>>20)
	}
	return s
}
