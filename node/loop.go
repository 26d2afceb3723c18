package node

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/orrery-log/orrery/core/broker"
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/jobs"
)

// loop is the goroutine that owns the broker.
//
//	forever:
//	  wait for: the disk's events · the queue (completions, requests) · WakeAt · stop
//	  take all that is there, completions first
//	  Step, Step, … into one Outbox
//	  hand it out: disk.Act · replies · jobs · notes
//	  the broker wants More? feed the next piece of Survived
type loop struct {
	log     *slog.Logger
	began   time.Time
	broker  *broker.Broker
	disk    medium
	queue   *queue
	reply   func(env.Reply)
	jobs    *workers
	metrics *observed
	onReady func()
	// forget removes the operator's notes of accepted losses, once the entries that
	// this life made of them at Ready are Synced: before that a crash would lose both.
	// nil: there are none, or it is done.
	forget   func() error
	accepted env.Seq // the last of those entries
	ready    bool

	stop chan struct{}
	once sync.Once

	rounds atomic.Uint64 // batches so far, for those who watch

	out   env.Outbox
	batch []env.Event
	more  bool  // the broker waits for a piece of Survived
	cause error // why the broker can not serve; run returns it after end
}

// medium is what the loop needs of disk.Disk.
type medium interface {
	Survived() (env.Survived, error)
	Act(*env.Outbox)
	Events() <-chan env.Event
	Failed() <-chan error
}

// stepsInOutbox bounds the Steps before their effects are handed out: a long
// batch should not keep the disk waiting for its first entry.
const stepsInOutbox = 64

// now reads both clocks. Mono is Go's monotonic clock.
func (l *loop) now() env.Now {
	t := time.Now()
	return env.Now{Mono: env.Time(t.Sub(l.began)), Wall: env.Time(t.UnixNano())}
}

// end asks run to return. It may be called more than once.
func (l *loop) end() { l.once.Do(func() { close(l.stop) }) }

// run returns nil after end, and an error when the disk has failed.
func (l *loop) run() error {
	if err := l.survive(); err != nil {
		return err
	}
	alarm := time.NewTimer(0)
	set := env.Time(0) // Mono of the alarm
	for {
		if l.more {
			// Between two pieces comes what there is, and nothing is waited for.
			select {
			case err := <-l.disk.Failed():
				return failed(err)
			case <-l.stop:
				return l.cause
			default:
			}
			l.batch = append(l.batch[:0], env.Tick{})
			l.step(l.takeReady())
			if err := l.survive(); err != nil {
				return err
			}
			continue
		}
		if at := l.broker.WakeAt(); at != set {
			alarm.Reset(l.until(at))
			set = at
		}
		l.batch = l.batch[:0]
		select {
		case ev := <-l.disk.Events():
			l.batch = append(l.batch, ev)
		case <-l.queue.wake:
		case <-alarm.C:
			set = -1 // it has rung, and is set again whatever WakeAt says
			l.batch = append(l.batch, env.Tick{})
		case err := <-l.disk.Failed():
			return failed(err)
		case <-l.stop:
			return l.cause
		}
		l.step(l.takeReady())
	}
}

// turns tells whether the loop takes a round when it is given one. It asks again
// and again for at most a second: a loop that does not turn in that time is ill.
func (l *loop) turns() bool {
	before := l.rounds.Load()
	l.queue.complete(env.Tick{})
	for range 200 {
		if l.rounds.Load() != before {
			return true
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

// takeReady appends to the batch all that can be had without waiting.
func (l *loop) takeReady() []env.Event {
	for n := len(l.disk.Events()); n > 0; n-- {
		l.batch = append(l.batch, <-l.disk.Events())
	}
	l.batch = l.queue.take(l.batch)
	return l.batch
}

func failed(err error) error {
	return fmt.Errorf("the disk failed, and what it has written is in doubt; start again when it works: %w", err)
}

// step takes the broker through a batch and hands out what it wants.
func (l *loop) step(batch []env.Event) {
	for from := 0; from < len(batch); from += stepsInOutbox {
		now := l.now()
		part := batch[from:min(from+stepsInOutbox, len(batch))]
		for _, ev := range part {
			l.broker.Step(now, ev, &l.out)
			if j, ok := ev.(env.Journaled); ok && l.ready && j.Synced >= l.accepted {
				l.forgetLosses()
			}
		}
		l.metrics.steps.Add(float64(len(part)))
		l.act()
	}
	l.metrics.batches.Inc()
	l.rounds.Add(1)
	clear(batch) // let go of the requests
	l.batch = batch[:0]
}

// survive feeds the broker one piece of what survived.
func (l *loop) survive() error {
	piece, err := l.disk.Survived()
	if err != nil {
		return fmt.Errorf("the data directory can not be read: %w", err)
	}
	l.more = false
	l.broker.Step(l.now(), piece, &l.out)
	l.act()
	return nil
}

// act hands out the Outbox.
func (l *loop) act() {
	out := &l.out
	l.disk.Act(out)
	for i := range out.Replies {
		l.reply(out.Replies[i])
	}
	for _, j := range out.Jobs {
		l.jobs.run(j, l.queue)
	}
	for i := range out.Calls {
		l.queue.complete(env.Answer{Call: out.Calls[i].Call}) // there is no peer yet: none will come
	}
	for i := range out.Notes {
		l.note(&out.Notes[i])
	}
	l.more = l.more || out.More
	out.Reset()
}

func (l *loop) note(n *env.Note) {
	switch n.Kind {
	case env.Ready:
		l.ready = true
		if n := len(l.out.Journal); n > 0 {
			l.accepted = l.out.Journal[n-1].Seq
		} else {
			l.forgetLosses()
		}
		l.onReady()
	case env.Info:
		l.log.Info(n.Text, noteFields(n)...)
	case env.Warn:
		l.log.Warn(n.Text, noteFields(n)...)
	case env.Stop:
		l.cause = errors.New(n.Text)
		l.end()
	case env.Count, env.Gauge:
		l.metrics.note(n)
	case env.Mark: // for coverage in simulation
	default:
		panic(fmt.Sprintf("node: unknown note %+v", *n))
	}
}

// forgetLosses removes the notes of accepted losses, once.
func (l *loop) forgetLosses() {
	if l.forget == nil {
		return
	}
	if err := l.forget(); err != nil {
		l.log.Warn("the notes of accepted losses are still there; the next start accepts again", "error", err)
	}
	l.forget = nil
}

func noteFields(n *env.Note) []any {
	fields := []any{"what", n.Name, "value", n.Value}
	if n.Log != (env.LogID{}) {
		fields = append(fields, "topic id", fmt.Sprintf("%x", n.Log.Topic), "partition", n.Log.Partition)
	}
	return fields
}

// until is how long it is to a point of Mono.
func (l *loop) until(at env.Time) time.Duration {
	if at == math.MaxInt64 {
		return math.MaxInt64
	}
	return max(0, time.Duration(at)-time.Since(l.began))
}

// workers run jobs, at most one a processor at a time. Jobs in flight are bounded
// by the requests that wait for them.
type workers struct{ slots chan struct{} }

func newJobs() *workers { return &workers{make(chan struct{}, runtime.GOMAXPROCS(0))} }

func (w *workers) run(j env.Job, q *queue) {
	go func() {
		w.slots <- struct{}{}
		done := jobs.Run(j)
		<-w.slots
		q.complete(done)
	}()
}
