package sim

import (
	"testing"

	"github.com/orrery-log/orrery/core/env"
)

// BenchmarkSeed tells how many simulated seconds one core runs in a second.
func BenchmarkSeed(b *testing.B) {
	simulated := env.Time(0)
	for n := range b.N {
		r, err := One(uint64(n+1), "full", Orrery())
		if err != nil || r.Failure != nil {
			b.Fatal(err, r.Failure)
		}
		simulated += r.Stats.Simulated
	}
	b.ReportMetric(float64(simulated/env.Second)/b.Elapsed().Seconds(), "simulated-s/s")
}
