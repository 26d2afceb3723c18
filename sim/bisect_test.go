package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
)

func TestTheFirstDifferenceOfTwoRunsIsNamed(t *testing.T) {
	runs := 0
	kit := Orrery()
	honest := kit.New
	kit.New = func(cfg env.Config, now env.Now) machine {
		if cfg.Seed == 0 {
			t.Fatal("a life without a seed")
		}
		runs++
		if runs%2 == 0 { // every other life of this program begins with another producer id
			cfg.Limits.ProducerIDs++
		}
		return honest(cfg, now)
	}
	_, first, second, ok := FirstDifference(2, "witness/epochs", kit)
	require.True(t, ok)
	require.NotEqual(t, first, second)
	_, _, _, ok = FirstDifference(2, "witness/epochs", Orrery())
	require.False(t, ok, "a deterministic seed differs from itself")
}
