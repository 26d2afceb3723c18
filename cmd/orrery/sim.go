package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orrery-log/orrery/sim"
)

// Exit codes of orrery sim beside 0 and usage.
const (
	exitBroken           = 1
	exitNotDeterministic = 3
	exitStuck            = 4
)

type simFlags struct {
	seed    uint64
	seeds   string
	workers int
	limit   time.Duration
	trace   bool
	twice   bool
	once    bool
	profile string
}

func simCommand() *cobra.Command {
	var f simFlags
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Run the broker under the seeded simulator",
		Long: `sim runs the broker with a simulated disk, network and clients in virtual time,
with faults that a seed draws, and compares every answer with all earlier ones.

One seed is run twice and must give the same hash. Exit code: 0 every promise
held, 1 one was broken, 2 usage, 3 not deterministic, 4 stuck.

Profiles:
` + profileList() + `
` + sim.Oracles + `
` + sim.Legend,
		Example: `  orrery sim --seed 42
  orrery sim --seed 42 --trace | less
  orrery sim --seeds 1..2000 --workers 2
  orrery sim --seeds 1..1000000 --for 10m --profile crash`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case cmd.Flags().Changed("seed") == cmd.Flags().Changed("seeds"):
				return &exitError{exitUsage, errors.New("give either --seed N or --seeds A..B")}
			case cmd.Flags().Changed("seed"):
				return f.one(cmd.OutOrStdout())
			default:
				return f.many(cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
		},
	}
	flags := cmd.Flags()
	flags.Uint64Var(&f.seed, "seed", 0, "run this seed, twice")
	flags.StringVar(&f.seeds, "seeds", "", "run the seeds A..B, both included")
	flags.IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0), "runs at a time")
	flags.DurationVar(&f.limit, "for", 0, "with --seeds: begin no seed after that time")
	flags.BoolVar(&f.trace, "trace", false, "with --seed: print one line for each event and effect")
	flags.BoolVar(&f.twice, "twice", false, "with --seeds: run each seed twice and compare the hashes")
	flags.BoolVar(&f.once, "once", false, "with --seed: do not run it a second time")
	flags.StringVar(&f.profile, "profile", "full", "how seeds are drawn")
	return cmd
}

func profileList() string {
	names := make([]string, 0, len(sim.Profiles))
	for name := range sim.Profiles {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "  %-8s %s\n", name, sim.Profiles[name])
	}
	return b.String()
}

// one runs a single seed twice.
func (f *simFlags) one(out io.Writer) error {
	kit := sim.Orrery()
	trace := bufio.NewWriterSize(out, 1<<20)
	if f.trace {
		kit.Trace = trace
	}
	begun := time.Now()
	r, err := sim.One(f.seed, f.profile, kit)
	took := time.Since(begun)
	if flushed := trace.Flush(); err == nil && flushed != nil {
		return flushed
	}
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if r.Failure != nil {
		return f.failed(out, &r)
	}
	times := "once"
	if !f.once {
		times = "twice"
		kit.Trace = nil
		again, err := sim.One(f.seed, f.profile, kit)
		if err != nil {
			return err
		}
		if d := sim.Differ(&r, &again); d != nil {
			return f.differs(out, d)
		}
	}
	p := sim.Progress{Seeds: 1, Stats: r.Stats, Elapsed: took}
	fmt.Fprintln(out, p.Line())
	fmt.Fprintln(out, p.Totals())
	fmt.Fprintf(out, "seed %d profile %s: clean %s, %d steps, hash %016x\n", f.seed, f.profile, times, r.Stats.Steps, r.Hash)
	return nil
}

func (f *simFlags) many(out, talk io.Writer) error {
	from, to, ok := seedRange(f.seeds)
	if !ok {
		return &exitError{exitUsage, fmt.Errorf("--seeds is %q; write A..B, for example 1..2000", f.seeds)}
	}
	told := time.Now()
	s := sim.Sweep{From: from, To: to, Workers: f.workers, Profile: f.profile, Twice: f.twice, For: f.limit, Kit: sim.Orrery()}
	s.Progress = func(p sim.Progress) {
		if time.Since(told) > 2*time.Second {
			told = time.Now()
			fmt.Fprintln(talk, p.Line())
		}
	}
	v, err := s.Run()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	switch {
	case v.Failed != nil:
		return f.failed(out, v.Failed)
	case v.Differs != nil:
		return f.differs(out, v.Differs)
	}
	fmt.Fprintln(out, v.Line())
	if missing := v.Stats.Missing(f.profile); len(missing) > 0 && v.Seeds >= 20 {
		fmt.Fprintf(out, "never happened: %s\n", strings.Join(missing, ", "))
	}
	fmt.Fprintf(out, "seeds %d clean: %s\n", v.Seeds, v.Totals())
	return nil
}

func (f *simFlags) failed(out io.Writer, r *sim.Result) error {
	fmt.Fprintf(out, "BROKEN %s: seed %d, step %d, %d.%03d simulated seconds\n%s\nreplay: orrery sim --seed %d --profile %s --trace\n",
		r.Failure.Broken, r.Seed, r.Failure.Step, r.Failure.At/1e9, r.Failure.At/1e6%1000, r.Failure.Text, r.Seed, f.profile)
	fmt.Fprintf(out, "seed %d profile %s: %s broken, hash %016x\n", r.Seed, f.profile, r.Failure.Broken, r.Hash)
	if r.Failure.Broken == "O8" || r.Failure.Broken == "unknown" {
		return &exitError{code: exitStuck}
	}
	return &exitError{code: exitBroken}
}

func (f *simFlags) differs(out io.Writer, d *sim.Difference) error {
	fmt.Fprintf(out, "NOT DETERMINISTIC %v\nreplay: orrery sim --seed %d --profile %s --trace, twice, and compare\n", d, d.Seed, f.profile)
	if line, first, second, ok := sim.FirstDifference(d.Seed, f.profile, sim.Orrery()); ok {
		fmt.Fprintf(out, "the traces differ first in line %d:\n  %s\n  %s\n", line, first, second)
	}
	return &exitError{code: exitNotDeterministic}
}

// seedRange reads A..B.
func seedRange(s string) (from, to uint64, ok bool) {
	a, b, found := strings.Cut(s, "..")
	from, err1 := strconv.ParseUint(a, 10, 64)
	to, err2 := strconv.ParseUint(b, 10, 64)
	return from, to, found && err1 == nil && err2 == nil && from <= to
}
