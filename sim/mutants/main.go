// Mutants plants known mistakes into the core, one at a time, and measures how
// many seeds the simulator needs to find each.
//
// A mutant is a text file beside this one: what the mistake is, the oracles that
// must find it, the witness plan that shows it, and pieces of source with their
// replacements. Each is built with go build -overlay, so that production code
// carries none of it. A kill counts only when one of the listed oracles fired; a
// panic is reported as one and does not count.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/orrery-log/orrery/sim"
)

var (
	streams  = flag.Int("streams", 20, "disjoint streams of seeds")
	budget   = flag.Int("budget", 60, "seeds of each stream")
	profile  = flag.String("profile", "short", "how seeds are drawn")
	workers  = flag.Int("workers", 2, "runs at a time")
	only     = flag.String("only", "", "run the mutants whose name contains this")
	clean    = flag.Bool("clean", true, "run the clean core over every witness first")
	dir      = flag.String("dir", "sim/mutants", "where the mutants are")
	seed     = flag.Uint64("seed", 0, "run this seed in this process, and nothing else")
	twice    = flag.Bool("twice", false, "with -seed: a second time, and compare")
	patience = flag.Duration("patience", 2*time.Minute, "the longest time for one seed")
)

// mutant is one planted mistake.
type mutant struct {
	name, title string
	oracles     []string
	witness     string
	edits       []edit
}

type edit struct{ file, from, to string }

func main() {
	flag.Parse()
	if *seed != 0 {
		victim()
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// victim runs one seed on the core that this program was built with.
func victim() {
	r, err := sim.One(*seed, *profile, sim.Orrery())
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	if r.Failure != nil {
		fmt.Printf("BROKEN %s\n%s\n", r.Failure.Broken, r.Failure.Text)
		os.Exit(1)
	}
	if *twice {
		again, err := sim.One(*seed, *profile, sim.Orrery())
		if d := sim.Differ(&r, &again); err == nil && d != nil {
			fmt.Printf("BROKEN determinism\n%v\n", d)
			os.Exit(1)
		}
	}
}

func run() error {
	paths, err := filepath.Glob(filepath.Join(*dir, "*.mutant"))
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var list []mutant
	for _, p := range paths {
		m, err := read(p)
		if err != nil {
			return err
		}
		if strings.Contains(m.name, *only) {
			list = append(list, m)
		}
	}
	if *clean {
		if err := cleanWitnesses(work, list); err != nil {
			return err
		}
	}
	survived := 0
	fmt.Printf("%-28s %-12s %-8s %-12s %7s %7s  %s\n", "mutant", "witness", "killed", "oracle", "median", "p95", "other ends")
	for i := range list {
		ok, err := judge(work, &list[i])
		if err != nil {
			return err
		}
		if !ok {
			survived++
		}
	}
	if survived > 0 {
		return fmt.Errorf("%d of %d mutants were not found by their oracles in every stream, or not by their witness", survived, len(list))
	}
	return nil
}

// read parses a mutant. The file begins with lines "title:", "oracles:" and
// "witness:"; then for each edit a line "--- FILE", the old text, a line "+++",
// and the new text.
func read(path string) (mutant, error) {
	m := mutant{name: strings.TrimSuffix(filepath.Base(path), ".mutant")}
	data, err := os.ReadFile(path)
	if err != nil {
		return m, err
	}
	parts := regexp.MustCompile(`(?m)^--- `).Split(string(data), -1)
	for _, line := range strings.Split(parts[0], "\n") {
		key, value, _ := strings.Cut(line, ": ")
		switch key {
		case "title":
			m.title = value
		case "oracles":
			m.oracles = strings.Split(value, ", ")
		case "witness":
			m.witness = value
		}
	}
	for _, p := range parts[1:] {
		file, rest, _ := strings.Cut(p, "\n")
		from, to, ok := strings.Cut(rest, "+++\n")
		if !ok {
			return m, fmt.Errorf("%s: an edit of %s without +++", path, file)
		}
		m.edits = append(m.edits, edit{strings.TrimSpace(file), strings.TrimSuffix(from, "\n"), strings.TrimSuffix(to, "\n")})
	}
	if m.title == "" || len(m.oracles) == 0 || len(m.edits) == 0 {
		return m, fmt.Errorf("%s: title, oracles and at least one edit are needed", path)
	}
	return m, nil
}

// build makes the simulator with the mistake in it; a nil mutant is the clean core.
func build(work string, m *mutant) (string, error) {
	name := "clean"
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	if m != nil {
		name = m.name
		sources := map[string]string{}
		for _, e := range m.edits {
			text, ok := sources[e.file]
			if !ok {
				data, err := os.ReadFile(e.file)
				if err != nil {
					return "", err
				}
				text = string(data)
			}
			if n := strings.Count(text, e.from); n != 1 {
				return "", fmt.Errorf("mutant %s: %s contains the old text %d times, not once", m.name, e.file, n)
			}
			sources[e.file] = strings.Replace(text, e.from, e.to, 1)
		}
		for file, text := range sources {
			full, err := filepath.Abs(file)
			if err != nil {
				return "", err
			}
			to := filepath.Join(work, name+"-"+strings.ReplaceAll(file, "/", "-"))
			if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
				return "", err
			}
			overlay.Replace[full] = to
		}
	}
	spec, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	json := filepath.Join(work, name+".json")
	if err := os.WriteFile(json, spec, 0o644); err != nil {
		return "", err
	}
	binary := filepath.Join(work, name)
	out, err := exec.Command("go", "build", "-overlay", json, "-o", binary, "./sim/mutants").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("mutant %s does not build: %v\n%s", name, err, out)
	}
	return binary, nil
}

var broken = regexp.MustCompile(`(?m)^BROKEN (.+)$`)

// one runs one seed and tells what was broken; "" is nothing. Only a mutant of
// determinism needs its second run.
func one(binary string, seed uint64, profile string, m *mutant) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), *patience)
	defer cancel()
	args := []string{"-seed", strconv.FormatUint(seed, 10), "-profile", profile}
	if m != nil && slices.Contains(m.oracles, "determinism") {
		args = append(args, "-twice")
	}
	out, err := exec.CommandContext(ctx, binary, args...).CombinedOutput()
	if err == nil {
		return "", nil
	}
	if ctx.Err() != nil {
		return "time", nil
	}
	if found := broken.FindSubmatch(out); found != nil {
		return string(found[1]), nil
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "exit", fmt.Errorf("seed %d: %v\n%s", seed, err, bytes.TrimSpace(out))
	}
	return "", err
}

func cleanWitnesses(work string, list []mutant) error {
	binary, err := build(work, nil)
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].witness == "" {
			continue
		}
		what, err := one(binary, 1, "witness/"+list[i].witness, nil)
		if err != nil {
			return err
		}
		if what != "" {
			return fmt.Errorf("the clean core does not pass the witness %s: %s broken", list[i].witness, what)
		}
	}
	return nil
}

// judge runs a mutant's witness and its streams and prints its line of the table.
func judge(work string, m *mutant) (bool, error) {
	binary, err := build(work, m)
	if err != nil {
		return false, err
	}
	defer os.Remove(binary)
	witness := "none"
	if m.witness != "" {
		what, err := one(binary, 1, "witness/"+m.witness, m)
		if err != nil {
			return false, err
		}
		witness = what
		if witness == "" {
			witness = "missed"
		}
	}
	streams := *streams
	if strings.HasPrefix(m.name, "regression-") {
		streams = 0 // a fixed bug put back: its witness must find it, and that is all
	}
	found := make([]int, streams) // seeds to the first kill; 0: none
	oracles, others := map[string]int{}, map[string]int{}
	var mu sync.Mutex
	var group sync.WaitGroup
	next := make(chan int)
	var failed error
	for range *workers {
		group.Add(1)
		go func() {
			defer group.Done()
			for s := range next {
				for k := range *budget {
					what, err := one(binary, uint64(s+1)*1_000_000+uint64(k), *profile, m)
					mu.Lock()
					if err != nil && failed == nil {
						failed = err
					}
					killed := slices.Contains(m.oracles, what)
					switch {
					case killed:
						found[s] = k + 1
						oracles[what]++
					case what != "":
						others[what]++
					}
					mu.Unlock()
					if killed {
						break
					}
				}
			}
		}()
	}
	for s := range streams {
		next <- s
	}
	close(next)
	group.Wait()
	if failed != nil {
		return false, failed
	}
	var counts []int
	for _, n := range found {
		if n > 0 {
			counts = append(counts, n)
		}
	}
	sort.Ints(counts)
	median, p95 := "-", "-"
	if len(counts)*2 > streams {
		median = strconv.Itoa(counts[(streams-1)/2])
	}
	if at := (streams*95 + 99) / 100; at > 0 && len(counts) >= at {
		p95 = strconv.Itoa(counts[at-1])
	}
	fmt.Printf("%-28s %-12s %2d/%-5d %-12s %7s %7s  %s\n", m.name, witness, len(counts), streams, tally(oracles), median, p95, tally(others))
	return len(counts) == streams && (witness == "none" || slices.Contains(m.oracles, witness)), nil
}

func tally(counts map[string]int) string {
	names := make([]string, 0, len(counts))
	for n := range counts {
		names = append(names, n)
	}
	sort.Strings(names)
	var out []string
	for _, n := range names {
		out = append(out, n+"×"+strconv.Itoa(counts[n]))
	}
	if len(out) == 0 {
		return "-"
	}
	return strings.Join(out, " ")
}
