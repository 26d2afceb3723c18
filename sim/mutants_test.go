package sim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A mutant whose text is not in the source any more plants nothing. It is found
// here, in every run of the tests, and not when the long run of mutants breaks.
func TestEachMutantsTextStandsOnceInTheSource(t *testing.T) {
	paths, err := filepath.Glob("mutants/*.mutant")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(paths), 13)
	for _, p := range paths {
		data, err := os.ReadFile(p)
		require.NoError(t, err)
		for _, edit := range strings.Split(string(data), "\n--- ")[1:] {
			file, rest, _ := strings.Cut(edit, "\n")
			from, _, ok := strings.Cut(rest, "+++\n")
			require.True(t, ok, p)
			source, err := os.ReadFile(filepath.Join("..", strings.TrimSpace(file)))
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(string(source), strings.TrimSuffix(from, "\n")), "%s: %s", p, file)
		}
		_, witness, ok := strings.Cut(string(data), "\nwitness: ")
		require.True(t, ok, "%s has no witness", p)
		name, _, _ := strings.Cut(witness, "\n")
		require.Contains(t, Witnesses, name, p)
	}
}
