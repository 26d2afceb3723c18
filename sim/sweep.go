package sim

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/orrery-log/orrery/core/env"
)

// Sweep runs many seeds on several workers. A run has one goroutine; workers share nothing.
type Sweep struct {
	From, To uint64 // seeds, both included
	Workers  int
	Profile  string
	Twice    bool          // each seed twice, and both hashes must agree
	For      time.Duration // begin no seed after that; 0: no limit
	Kit      Kit
	Progress func(Progress)
}

// Progress is how far a Sweep has come.
type Progress struct {
	Seeds   int
	Stats   Stats
	Elapsed time.Duration
}

// Verdict is what became of a Sweep.
type Verdict struct {
	Progress
	Failed  *Result // the failing run with the lowest seed of those that ran
	Differs *Difference
}

// Difference is a seed whose two runs do not agree.
type Difference struct {
	Seed          uint64
	First, Second uint64
	Mark          int // the first checkpoint of the hash at which they differ
}

func (d *Difference) String() string {
	return fmt.Sprintf("seed %d: hash %016x, then %016x; the first difference lies in the additions %d..%d", d.Seed, d.First, d.Second, d.Mark*markEvery, (d.Mark+1)*markEvery)
}

// Differ compares two runs of one seed.
func Differ(a, b *Result) *Difference {
	if a.Hash == b.Hash && (a.Failure == nil) == (b.Failure == nil) {
		return nil
	}
	d := &Difference{Seed: a.Seed, First: a.Hash, Second: b.Hash}
	for d.Mark < len(a.Marks) && d.Mark < len(b.Marks) && a.Marks[d.Mark] == b.Marks[d.Mark] {
		d.Mark++
	}
	return d
}

// One draws and runs a single seed.
func One(seed uint64, profile string, kit Kit) (Result, error) {
	plan, err := Draw(seed, profile)
	if err != nil {
		return Result{}, err
	}
	return Run(plan, kit), nil
}

// Run runs the seeds until one fails, all are done, or the time is up.
func (s *Sweep) Run() (Verdict, error) {
	if _, err := Draw(s.From, s.Profile); err != nil {
		return Verdict{}, err
	}
	var v Verdict
	var mu sync.Mutex
	var group sync.WaitGroup
	begun := time.Now()
	next, stop := s.From, false
	take := func() (uint64, bool) {
		mu.Lock()
		defer mu.Unlock()
		if stop || next > s.To || next < s.From || s.For > 0 && time.Since(begun) > s.For {
			return 0, false
		}
		next++
		return next - 1, true
	}
	for range max(s.Workers, 1) {
		group.Add(1)
		go func() {
			defer group.Done()
			for {
				seed, ok := take()
				if !ok {
					return
				}
				r, _ := One(seed, s.Profile, s.Kit)
				var d *Difference
				if s.Twice && r.Failure == nil {
					again, _ := One(seed, s.Profile, s.Kit)
					d = Differ(&r, &again)
				}
				mu.Lock()
				v.Seeds++
				v.Stats.Add(&r.Stats)
				v.Elapsed = time.Since(begun)
				if r.Failure != nil && (v.Failed == nil || r.Seed < v.Failed.Seed) {
					v.Failed, stop = &r, true
				}
				if d != nil && v.Differs == nil {
					v.Differs, stop = d, true
				}
				if s.Progress != nil {
					s.Progress(v.Progress)
				}
				mu.Unlock()
			}
		}()
	}
	group.Wait()
	v.Elapsed = time.Since(begun)
	return v, nil
}

// Line is one line about how far it has come. Rates are for all workers together.
func (p Progress) Line() string {
	s := max(p.Elapsed.Seconds(), 0.001)
	return fmt.Sprintf("%d seeds, %.0f steps/s, %.0f simulated seconds a second, %.1f operations a simulated second", p.Seeds, float64(p.Stats.Steps)/s,
		float64(p.Stats.Simulated)/float64(env.Second)/s, float64(p.Stats.Operations)/max(float64(p.Stats.Simulated)/float64(env.Second), 1))
}

// Totals tells what happened in all, each kind of fault by its name.
func (p Progress) Totals() string {
	kinds := make([]string, 0, len(p.Stats.Drawn))
	for k := range p.Stats.Drawn {
		kinds = append(kinds, k)
	}
	sort.Strings(kinds)
	var b strings.Builder
	fmt.Fprintf(&b, "acknowledged %d, consumed %d, operations %d, crashes %d, power losses %d, recoveries %d, copies %d, replays %d, judged operations %d", p.Stats.Acked, p.Stats.Consumed,
		p.Stats.Operations, p.Stats.Crashes, p.Stats.PowerLosses, p.Stats.Recoveries, p.Stats.Copies, p.Stats.Replays, p.Stats.Judged)
	for _, k := range kinds {
		fmt.Fprintf(&b, ", %s %d", k, p.Stats.Drawn[k])
	}
	return b.String()
}

// Missing names what a profile draws and never happened: a sweep that says clean
// and never lost power has said nothing.
func (s *Stats) Missing(profile string) []string {
	if profile == "calm" {
		return nil
	}
	var missing []string
	if s.Crashes == 0 {
		missing = append(missing, "crash")
	}
	if s.PowerLosses == 0 {
		missing = append(missing, "loss of power")
	}
	for _, k := range FaultKinds {
		if profile == "crash" && !strings.Contains(string(k), "crash") && !strings.Contains(string(k), "power") {
			continue
		}
		if s.Drawn[string(k)] == 0 {
			missing = append(missing, string(k))
		}
	}
	return missing
}
