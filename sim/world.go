package sim

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/linearizability"
)

// machine is a broker as a driver sees it.
type machine interface {
	Step(now env.Now, ev env.Event, out *env.Outbox)
	WakeAt() env.Time
}

// world is one run: a broker, its disk, its network, its clients and who watches
// them, in virtual time.
type world struct {
	plan  *Plan
	dice  dice
	queue queue
	now   env.Time // since the run began
	kit   Kit

	m          machine
	life       uint64
	up         bool
	handedOver bool // the last piece of Survived was stepped
	ready      bool
	accepted   []env.LogID // losses that an operator has accepted for the next life
	noted      env.Seq     // the acceptance is in the journal up to here; 0: this life is not ready
	recovered  env.Seq     // the last Seq that this life's start handed over
	pieces     []env.Survived
	mono       env.Time // Mono when the run began, new for each life
	shift      env.Time // how far the wall clock is off
	wallMax    int64    // the latest wall time ever shown, ms
	pausedTill env.Time
	paused     []env.Event
	out        env.Outbox
	acting     bool                   // the Outbox waits to be carried out
	jobs       map[env.JobID]env.Done // computed and not answered
	tickAt     env.Time
	ticks      uint64
	tickStorm  int

	faults fate
	disk   *disk
	net    *network
	truth  *truth
	forms  forms
	crowd  crowd
	story  chronicle

	steps uint64
	hash  hash
	trace io.Writer
	stats Stats
}

const never = env.Time(math.MaxInt64)

// wallStart is the wall time at which every run begins.
const wallStart = 1_800_000_000 * env.Second

// broken names what was broken when a run fails.
type broken string

// What can be broken beside the promises' oracles O1 to O8.
const (
	lawBroken    broken = "law"
	panicked     broken = "panic"
	stuck        broken = "O8"
	lost         broken = "O1"
	inconsistent broken = "O2"
	notOnce      broken = "O4"
	notLinear    broken = "O9"
	undecided    broken = "unknown"
	notReplay    broken = "O6"
	malformed    broken = "O7"
	notPlain     broken = "law 7"
)

// Failure is what a run found.
type Failure struct {
	Broken string
	Text   string
	Step   uint64
	At     env.Time
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%s broken at step %d, %s s: %s", f.Broken, f.Step, stamp(f.At), f.Text)
}

// fail ends the run. It panics, because a run can not go on behind a broken
// promise, and Run catches it.
func (w *world) fail(what broken, format string, args ...any) {
	panic(&Failure{Broken: string(what), Text: fmt.Sprintf(format, args...), Step: w.steps, At: w.now})
}

func newWorld(plan *Plan, kit Kit) *world {
	w := &world{plan: plan, dice: dice{plan.Seed}, kit: kit, tickAt: never, jobs: map[env.JobID]env.Done{}}
	w.disk = newDisk(w, plan.Disk)
	w.net = newNetwork(w)
	w.truth = newTruth(w)
	w.story.w = w
	w.forms = forms{w: w, logs: map[env.LogID]*form{}, opens: map[env.Seq]opened{}}
	return w
}

// clock is the time as the broker is told it.
func (w *world) clock() env.Now {
	n := env.Now{Mono: w.mono + w.now, Wall: wallStart + w.now + w.shift}
	w.wallMax = max(w.wallMax, n.WallMillis())
	return n
}

// runUntil lets happen what happens before a time, or until done says so.
func (w *world) runUntil(at env.Time, done func() bool) {
	for !w.queue.empty() && w.queue.items[0].at <= at {
		if done != nil && done() {
			return
		}
		it := w.queue.next()
		if it.at > w.now {
			w.now = it.at
			w.tickStorm = 0
		}
		it.do()
	}
	if done == nil {
		w.now = max(w.now, at)
	}
}

// in does something later, whatever happens to the broker meanwhile.
func (w *world) in(d env.Time, do func()) { w.queue.add(w.now+d, do) }

// step hands one event to the broker.
func (w *world) step(ev env.Event) {
	if !w.up {
		return
	}
	if w.pausedTill > w.now {
		w.paused = append(w.paused, ev)
		return
	}
	w.steps++
	w.stats.Steps++
	now := w.clock()
	w.hash.event(now, ev)
	if w.trace != nil {
		w.traceEvent(ev)
	}
	if s, ok := ev.(env.Survived); ok && s.Last {
		w.handedOver = true
	}
	w.m.Step(now, ev, &w.out)
	if w.kit.Inspect != nil && w.steps%inspectEvery == 0 {
		w.inspect()
	}
	w.maybeCopy()
	if !w.acting {
		if w.plan.Linger > 0 && w.dice.chance(drawOrder, 1, w.steps, w.plan.Linger) {
			w.acting = true
			life := w.life
			w.in(env.Time(w.dice.below(drawOrder, 2, w.steps, int64(env.Millisecond))), func() {
				if w.life == life && w.acting {
					w.acting = false
					w.act()
				}
			})
		} else {
			w.act()
		}
	}
	if w.up {
		w.armTick()
		w.faults.stepped(w)
	}
}

// inspectEvery: a look at everything costs more than a Step.
const inspectEvery = 16

// inspect lets the broker look at itself (O7).
func (w *world) inspect() {
	defer func() {
		if r := recover(); r != nil {
			w.fail(malformed, "the broker's invariants: %v", r)
		}
	}()
	w.kit.Inspect(w.m)
}

// act carries the Outbox out: everything becomes an operation with its own time.
func (w *world) act() {
	out := &w.out
	w.hash.outbox(out)
	if w.trace != nil {
		w.traceOutbox(out)
	}
	w.checkOutbox(out)
	for i := range out.Notes {
		switch n := &out.Notes[i]; n.Kind {
		case env.Ready:
			w.ready = true
			w.stats.Recoveries++
			w.noted = w.disk.last() + env.Seq(len(out.Journal))
		case env.Stop:
			if !w.truth.damaged() {
				w.fail(lost, "the broker refuses to start on a sound disk: %s", n.Text)
			}
		}
	}
	w.disk.act(out)
	w.net.act(out.Replies)
	w.runJobs(out.Jobs)
	if len(out.Calls) > 0 {
		w.fail(lawBroken, "a single broker called %v", out.Calls[0].To)
	}
	if out.More {
		w.nextPiece()
	}
	out.Reset()
}

// runJobs computes jobs at once and answers at any time and in any order.
func (w *world) runJobs(jobs []env.Job) {
	for _, j := range jobs {
		done := w.kit.Job(j)
		w.disk.ops++
		life := w.life
		w.jobs[j.Job] = done
		w.in(w.dice.within(drawJob, 0, w.disk.ops, Span{20 * env.Microsecond, 20 * env.Millisecond}), func() {
			if w.life == life {
				delete(w.jobs, j.Job)
				w.step(done)
			}
		})
	}
}

// nextPiece hands over what survived, piece by piece.
func (w *world) nextPiece() {
	if len(w.pieces) == 0 {
		w.fail(lawBroken, "recovery: More after the last piece")
	}
	life := w.life
	w.disk.ops++
	w.in(w.dice.within(drawPiece, 0, w.disk.ops, Span{100 * env.Microsecond, 10 * env.Millisecond}), func() {
		if w.life != life || len(w.pieces) == 0 {
			return
		}
		p := w.pieces[0]
		w.pieces = w.pieces[1:]
		w.step(p)
	})
}

// armTick keeps the driver's debt: a Tick comes no later than WakeAt.
func (w *world) armTick() {
	wake := w.m.WakeAt()
	if wake == never {
		return
	}
	at := max(wake-w.mono, w.now)
	if at >= w.tickAt {
		return
	}
	w.tickAt = at
	w.ticks++
	tick := w.ticks
	w.queue.add(at, func() {
		if tick != w.ticks || !w.up {
			return
		}
		w.tickAt = never
		if w.tickStorm++; w.tickStorm > 10_000 {
			w.fail(stuck, "WakeAt stays at %d while Ticks come: time stands still", wake)
		}
		w.step(env.Tick{})
	})
}

// start begins a life with what is on the disk.
func (w *world) start() {
	w.life++
	w.up, w.handedOver, w.ready, w.acting = true, false, false, false
	w.tickAt = never
	w.ticks++
	r := &roller{d: w.dice, p: drawLife, entity: w.life}
	w.mono = env.Time(r.below(int64(1000*env.Hour))) + 1
	cfg := w.config(r)
	w.noted = 0
	cfg.AcceptLoss = slices.Clone(w.accepted)
	w.pieces = w.disk.restart()
	w.recovered = w.disk.last()
	w.hash.add(w.life)
	if w.trace != nil {
		w.traceLine("life %d: journal %d..%d, %d segments", w.life, w.disk.journal.first, w.disk.last(), len(w.disk.names))
	}
	w.m = w.kit.New(cfg, w.clock())
	first := w.pieces[0]
	w.pieces = w.pieces[1:]
	w.step(first)
	w.in(0, func() { w.step(env.Space{Free: w.disk.plan.Free}) })
}

// config is what the broker of a life is told.
func (w *world) config(r *roller) env.Config {
	cfg := env.Config{ClusterID: "orrery-simulated-cluster", NodeID: 1, Seed: r.next(), Limits: w.plan.Limits, Properties: w.plan.Properties,
		Advertised: []env.Endpoint{{Listener: "PLAINTEXT", Host: "sim", Port: 9092}}}
	for i := range cfg.Incarnation {
		cfg.Incarnation[i] = byte(r.next())
	}
	return cfg
}

// crash ends a life. A part of what the broker had asked for is lost; clients
// lose their connections.
func (w *world) crash(power bool) {
	if !w.up {
		return
	}
	if w.trace != nil {
		w.traceLine("crash, power lost: %v", power)
	}
	safeAt := w.disk.safeTime()
	w.life++
	w.up, w.ready, w.m, w.acting = false, false, nil, false
	w.pieces, w.paused, w.pausedTill = nil, nil, 0
	w.out = env.Outbox{}
	w.jobs = map[env.JobID]env.Done{}
	w.disk.crash(power)
	w.forms.crashed(w.disk.last())
	w.net.crash()
	w.truth.crashed(power, safeAt)
	if power {
		w.story.history.Note(linearizability.PowerLoss, "power lost")
	}
	w.stats.Crashes++
	if power {
		w.stats.PowerLosses++
	}
	life := w.life
	w.in(w.dice.within(drawCrash, 0, w.life, Span{20 * env.Millisecond, 2 * env.Second}), func() {
		if w.life == life {
			w.start()
		}
	})
}
