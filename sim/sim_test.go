package sim

import (
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/broker"
	"github.com/orrery-log/orrery/sim/plain"
)

// seed runs one seed twice and holds that it is clean and the same both times.
func seed(t *testing.T, n uint64, profile string) Result {
	t.Helper()
	kit := Orrery()
	if os.Getenv("SIM_TRACE") != "" {
		kit.Trace = os.Stderr
	}
	r, err := One(n, profile, kit)
	require.NoError(t, err)
	if r.Failure != nil {
		t.Fatalf("seed %d, profile %s: %v", n, profile, r.Failure)
	}
	kit.Trace = nil
	again, err := One(n, profile, kit)
	require.NoError(t, err)
	require.Nil(t, Differ(&r, &again), "not deterministic")
	return r
}

func TestCalmSeedsAreClean(t *testing.T) {
	r, err := One(1, "calm", Orrery())
	require.NoError(t, err)
	require.Nil(t, r.Failure)
}

func TestShortSeedsAreClean(t *testing.T) {
	for n := range uint64(4) {
		seed(t, n+1, "short")
	}
}

func TestABrokerIsPlainData(t *testing.T) {
	require.Empty(t, plain.Refused(reflect.TypeOf(broker.Broker{})))
}

func TestCleanCorePassesEveryWitness(t *testing.T) {
	for name := range Witnesses {
		t.Run(name, func(t *testing.T) {
			r, err := One(1, "witness/"+name, Orrery())
			require.NoError(t, err)
			require.Nil(t, r.Failure)
		})
	}
}
