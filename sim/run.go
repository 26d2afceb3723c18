package sim

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/orrery-log/orrery/core/env"
)

// Kit is what a run is built with: the broker under test.
type Kit struct {
	// New makes the broker of one life.
	New func(cfg env.Config, now env.Now) machine
	// Job computes a job.
	Job func(env.Job) env.Done
	// Copy gives a copy of a broker that went through an encoder; nil: copies are not made.
	Copy func(machine) (machine, error)
	// Inspect looks into the broker after some Steps and panics when something that
	// must hold between two Steps does not.
	Inspect func(machine)
	// Trace gets one line for each event and effect; nil: nobody reads it.
	Trace io.Writer
}

// Result is what a run came to.
type Result struct {
	Seed    uint64
	Hash    uint64
	Marks   []uint64
	Failure *Failure // nil: every promise held
	Stats   Stats
}

// Stats count what happened in a run.
type Stats struct {
	Steps, Acked, Consumed, Operations int64
	Crashes, PowerLosses, Recoveries   int64
	Copies, Replays, Judged            int64
	Simulated                          env.Time
	Drawn                              map[string]int64 // by kind of fault
}

func (s *Stats) drew(kind string) {
	if s.Drawn == nil {
		s.Drawn = map[string]int64{}
	}
	s.Drawn[kind]++
}

// Add adds what another run counted.
func (s *Stats) Add(o *Stats) {
	s.Steps += o.Steps
	s.Acked += o.Acked
	s.Consumed += o.Consumed
	s.Operations += o.Operations
	s.Crashes += o.Crashes
	s.PowerLosses += o.PowerLosses
	s.Recoveries += o.Recoveries
	s.Copies += o.Copies
	s.Replays += o.Replays
	s.Judged += o.Judged
	s.Simulated += o.Simulated
	for k, n := range o.Drawn {
		if s.Drawn == nil {
			s.Drawn = map[string]int64{}
		}
		s.Drawn[k] += n
	}
}

// Run carries a plan out, in two phases: faults first, then none, and everything
// must come to rest.
func Run(plan *Plan, kit Kit) (result Result) {
	w := newWorld(plan, kit)
	w.trace = kit.Trace
	defer func() {
		r := recover()
		result = Result{Seed: plan.Seed, Hash: w.hash.sum, Marks: w.hash.marks, Stats: w.stats}
		result.Stats.Simulated = w.now
		if r == nil {
			return
		}
		if f, ok := r.(*Failure); ok {
			result.Failure = f
			return
		}
		result.Failure = &Failure{Broken: string(panicked), Text: fmt.Sprintf("%v\n%s", r, stack()), Step: w.steps, At: w.now}
	}()
	if w.trace != nil {
		w.tracePlan()
	}
	w.start()
	w.crowd.begin(w)
	w.planReplays()
	w.faults.begin(w)
	w.runUntil(plan.Length, nil)
	w.heal()
	return result
}

// heal is the second phase: faults stop, clients end what they began, and within
// the plan's time every request has its answer (O8) and every partition was read.
func (w *world) heal() {
	w.faults = fate{healed: true}
	w.disk.slowness, w.disk.hungTill, w.disk.syncTill = 1, 0, 0
	w.net.downTill, w.net.slowTill = 0, 0
	w.crowd.quietTill = 0
	w.step(env.Space{Free: w.disk.plan.Free})
	w.crowd.finish()
	end := w.now + w.plan.Heal
	w.runUntil(end, func() bool { return w.ready && w.crowd.calm() })
	if !w.ready {
		w.fail(stuck, "the broker does not become ready within %s s after faults have stopped", stamp(w.plan.Heal))
	}
	if !w.crowd.calm() {
		n, who := w.crowd.openRequests()
		w.fail(stuck, "%d requests have no answer %s s after faults have stopped: %s; %s", n, stamp(w.plan.Heal), who, w.crowd.why())
	}
	w.crowd.auditor = newAuditor(w)
	w.crowd.auditor.next()
	end = w.now + w.plan.Heal
	w.runUntil(end, w.crowd.auditor.done)
	if !w.crowd.auditor.done() {
		w.fail(stuck, "%s could not be read to its end within %s s", w.crowd.auditor.logs[0], stamp(w.plan.Heal))
	}
	w.story.judge()
}

// stack is where a broker panicked, without the frames of the runtime and of this package.
func stack() string {
	var out []string
	lines := strings.Split(string(debug.Stack()), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "\t") && !strings.Contains(l, "/runtime/") && !strings.Contains(l, "/orrery/sim/") && i > 0 {
			at := strings.TrimSpace(l)
			if cut := strings.LastIndex(at, "/core/"); cut >= 0 {
				at = at[cut+1:]
			}
			out = append(out, "  "+strings.Fields(at)[0])
		}
		if len(out) >= 8 {
			break
		}
	}
	return strings.Join(out, "\n")
}
