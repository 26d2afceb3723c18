package differential

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/interop/process"
)

func TestMain(m *testing.M) {
	code := m.Run()
	process.Clean()
	os.Exit(code)
}

// properties are the settings that both brokers run with.
var properties = []string{"group.initial.rebalance.delay.ms=0"}

func brokers(t *testing.T) (kafka, ours *side) {
	t.Helper()
	at := os.Getenv("DIFFERENTIAL_KAFKA")
	if at == "" {
		at = process.Kafka(t, "21992", properties...)
	}
	kafka, err := meet("Apache Kafka", at)
	require.NoError(t, err)
	at = os.Getenv("DIFFERENTIAL_ORRERY")
	switch {
	case os.Getenv("DIFFERENTIAL_SELF") != "" && at == "":
		at = process.Kafka(t, "21996", properties...)
	case at == "":
		at = process.Start(t, process.Options{}).Addr
	}
	ours, err = meet("Orrery", at)
	require.NoError(t, err)
	return kafka, ours
}

// tally counts what was compared, and which meanings were of use.
type tally struct {
	sync.Mutex
	compared map[int16]map[int16]int // API, version: cases
	steps    int
	used     map[int]bool
	not      []string // pairs that Apache Kafka does not serve
}

func (y *tally) count(key, version int16, steps int) {
	y.Lock()
	defer y.Unlock()
	if y.compared[key] == nil {
		y.compared[key] = map[int16]int{}
	}
	y.compared[key][version]++
	y.steps += steps
}

func TestAnswersAreThoseOfApacheKafka(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts Apache Kafka; run it without -short")
	}
	kafka, ours := brokers(t)
	y := &tally{compared: map[int16]map[int16]int{}, used: map[int]bool{}}
	filter := os.Getenv("DIFFERENTIAL_CASE")
	var stamp [2]byte
	rand.Read(stamp[:])
	all := scenarios()
	t.Run("cases", func(t *testing.T) {
		for i, s := range all {
			if filter != "" && !strings.Contains(kmsg.NameForKey(s.key)+"/"+s.name, filter) {
				continue
			}
			t.Run(kmsg.NameForKey(s.key)+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				scene := make([]*run, 2)
				for v := s.first(); v <= s.last(); v++ {
					if at := kafka.served[s.key]; v < at[0] || v > at[1] {
						y.Lock()
						y.not = append(y.not, fmt.Sprintf("%s v%d", kmsg.NameForKey(s.key), v))
						y.Unlock()
						continue
					}
					prefix := fmt.Sprintf("%s%x-%d-%d-", allPrefix, stamp, i, v)
					both(t, y, s, v, prefix, kafka, ours, scene)
				}
			})
		}
	})
	report(t, y)
	if filter == "" && os.Getenv("DIFFERENTIAL_SELF") == "" && !t.Failed() {
		for i, m := range meant {
			if !y.used[i] && !m.maybe {
				t.Errorf("no difference needs this entry of meant.go any more: %s %s %s: %s", kmsg.NameForKey(m.key), m.name, m.path, m.why)
			}
		}
	}
}

// settling is how long a step waits for Kafka's background, by attempt.
var settling = []time.Duration{60 * time.Millisecond, 400 * time.Millisecond, 2 * time.Second}

// both plays one scenario on both sides at once and compares. What differs is
// played again, with more time for what Apache Kafka does in the background: a
// difference counts when it is there each time.
func both(t *testing.T, y *tally, s scenario, v int16, prefix string, kafka, ours *side, scene []*run) {
	var bad []string
	for attempt, settle := range settling {
		ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
		var wg sync.WaitGroup
		var seenK, seenO []seen
		var errK, errO error
		at := fmt.Sprintf("%s%d-", prefix, attempt)
		wg.Add(2)
		go func() { defer wg.Done(); scene[0], seenK, errK = s.play(ctx, kafka, v, at, scene[0], settle) }()
		go func() { defer wg.Done(); scene[1], seenO, errO = s.play(ctx, ours, v, at, scene[1], settle) }()
		wg.Wait()
		cancel()
		bad = nil
		if errK != nil || errO != nil {
			bad = append(bad, fmt.Sprintf("Apache Kafka: %v; Orrery: %v", errK, errO))
			scene[0], scene[1] = nil, nil
			continue
		}
		for _, d := range compare(seenK, seenO) {
			if !y.meant(s.key, v, s.name, d) {
				bad = append(bad, d.String())
			}
		}
		if len(bad) == 0 {
			y.count(s.key, v, len(seenK))
			return
		}
	}
	const most = 12
	more := ""
	if len(bad) > most {
		more = fmt.Sprintf("\n    and %d more", len(bad)-most)
		bad = bad[:most]
	}
	t.Errorf("%s v%d, %s:\n    %s%s", kmsg.NameForKey(s.key), v, s.name, strings.Join(bad, "\n    "), more)
}

func (y *tally) meant(key, version int16, name string, d difference) bool {
	if os.Getenv("DIFFERENTIAL_SELF") != "" {
		return false
	}
	y.Lock()
	defer y.Unlock()
	found := false
	for i, m := range meant {
		if m.covers(key, version, name, d) {
			y.used[i], found = true, true
		}
	}
	return found
}

func report(t *testing.T, y *tally) {
	var keys []int16
	for k := range y.compared {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i] < keys[j] })
	total, pairs := 0, 0
	var b strings.Builder
	for _, k := range keys {
		n := 0
		for _, c := range y.compared[k] {
			n += c
		}
		fmt.Fprintf(&b, "  %-24s %2d versions %5d\n", kmsg.NameForKey(k), len(y.compared[k]), n)
		total += n
		pairs += len(y.compared[k])
	}
	sort.Strings(y.not)
	fmt.Printf("differential: %d (API, version, case) compared in %d (API, version) with %d answers; meant differences: %d\n%s", total, pairs, y.steps, len(y.used), b.String())
	if len(y.not) > 0 {
		fmt.Printf("  not served by this Apache Kafka: %s\n", strings.Join(dedupe(y.not), ", "))
	}
}

func dedupe(sorted []string) []string {
	var out []string
	for i, s := range sorted {
		if i == 0 || s != sorted[i-1] {
			out = append(out, s)
		}
	}
	return out
}
