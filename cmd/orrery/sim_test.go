package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/sim"
)

func runSim(t *testing.T, args ...string) (code int, out, talk string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(context.Background(), append([]string{"sim"}, args...), strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

func TestSimPrintsItsHashLast(t *testing.T) {
	code, out, _ := runSim(t, "--seed", "1", "--profile", "tiny")
	require.Zero(t, code, out)
	require.Regexp(t, `clean twice, \d+ steps, hash [0-9a-f]{16}\n$`, out)
	_, again, _ := runSim(t, "--seed", "1", "--profile", "tiny", "--once")
	require.Equal(t, out[strings.LastIndex(out, "hash"):], again[strings.LastIndex(again, "hash"):])
}

func TestSimTellsTotalsOfManySeeds(t *testing.T) {
	code, out, _ := runSim(t, "--seeds", "1..2", "--profile", "tiny", "--workers", "2", "--twice")
	require.Zero(t, code, out)
	require.Regexp(t, `seeds 2 clean: acknowledged \d+, .*crashes \d+, power losses \d+`, out)
}

func TestSimRefusesACommandLineThatMakesNoSense(t *testing.T) {
	for _, args := range [][]string{{}, {"--seed", "1", "--seeds", "1..2"}, {"--seeds", "2..1"}, {"--seeds", "x"}, {"--seed", "1", "--profile", "none"}, {"--seed", "1", "extra"}} {
		code, _, talk := runSim(t, args...)
		require.Equal(t, exitUsage, code, "%v: %s", args, talk)
	}
}

func TestSimExitsByWhatWasBroken(t *testing.T) {
	for broken, want := range map[string]int{"O1": exitBroken, "law": exitBroken, "panic": exitBroken, "O8": exitStuck, "unknown": exitStuck} {
		var out bytes.Buffer
		f := simFlags{profile: "full"}
		err := f.failed(&out, &sim.Result{Seed: 7, Failure: &sim.Failure{Broken: broken, Text: "seen", Step: 3}})
		var coded *exitError
		require.True(t, errors.As(err, &coded))
		require.Equal(t, want, coded.code, broken)
		require.Contains(t, out.String(), "replay: orrery sim --seed 7 --profile full --trace")
	}
	var coded *exitError
	require.True(t, errors.As((&simFlags{profile: "none"}).differs(&bytes.Buffer{}, &sim.Difference{Seed: 1}), &coded))
	require.Equal(t, exitNotDeterministic, coded.code)
}
