package core

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// layers is the house: a package of the core may import only packages of lower
// layers. Within architecture's layer 0, env knows nothing and record knows env.
var layers = map[string]int{
	"core/env":          0,
	"core/record":       1,
	"core/record/codec": 2,
	"core/wait":         10,
	"core/config":       10,
	"core/metadata":     10,
	"core/journal":      10,
	"core/door":         10,
	"core/jobs":         10,
	"core/log":          20,
	"core/controller":   20,
	"core/group":        20,
	"core/txn":          20,
	"core/replica":      30,
	"core/quorum":       30,
	"core/coordinator":  40,
	"core/broker":       50,
}

// around are the rooms outside of the core and what each may import of this module.
var around = map[string][]string{
	"linearizability": {},
	"net":             {"core"},
	"disk":            {"core"},
	"node":            {"core", "net", "disk"},
	"sim":             {"core", "linearizability", "sim"},
	"cmd":             {"core", "net", "disk", "node", "sim", "linearizability", "cmd"},
	"interop":         {"core", "net", "disk", "node", "linearizability", "interop"},
}

// importFault says why a package may not import another one of this module, "" if it may.
func importFault(from, to string) string {
	if room(from) != "core" {
		allowed, known := around[room(from)]
		switch {
		case !known:
			return fmt.Sprintf("%s is a room without a place in the table", from)
		case !slices.Contains(allowed, room(to)):
			return fmt.Sprintf("%s may not import %s: %s may use %v", from, to, room(from), allowed)
		}
		return ""
	}
	if room(to) != "core" {
		return fmt.Sprintf("%s may not import %s: the core knows nothing around it", from, to)
	}
	mine, known := layers[from]
	if !known {
		return fmt.Sprintf("%s is a package without a layer", from)
	}
	theirs, known := layers[to]
	if !known {
		return fmt.Sprintf("%s is a package without a layer", to)
	}
	if theirs >= mine {
		return fmt.Sprintf("%s (layer %d) may not import %s (layer %d)", from, mine, to, theirs)
	}
	return ""
}

func room(pkg string) string {
	first, _, _ := strings.Cut(pkg, "/")
	return first
}

// importsOf are the imports of this module by each package's files, tests left
// out: a test may look at its package from above.
func importsOf(t *testing.T, dir string) map[string][]string {
	t.Helper()
	all := make(map[string][]string)
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != dir && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"testdata", "bin", "data"}, d.Name())) {
			return filepath.SkipDir
		}
		if d.IsDir() || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, filepath.Dir(file))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		all[pkg] = append(all[pkg], "")
		for _, spec := range f.Imports {
			if p, _ := strconv.Unquote(spec.Path.Value); strings.HasPrefix(p, module) {
				all[pkg] = append(all[pkg], strings.TrimPrefix(p, module))
			}
		}
		return nil
	})
	require.NoError(t, err)
	return all
}

func TestImportsPointOnlyToLowerLayers(t *testing.T) {
	all := importsOf(t, root(t))
	require.Contains(t, all, "core/env")
	for pkg, tos := range all {
		if _, known := layers[pkg]; room(pkg) == "core" && !known {
			t.Errorf("%s is a package without a layer", pkg)
		}
		for _, to := range tos {
			if to == "" {
				continue
			}
			if fault := importFault(pkg, to); fault != "" {
				t.Error(fault)
			}
		}
	}
}

func TestAPlantedUpwardImportIsFound(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{"core/log", "core/replica"},
		{"core/env", "core/record"},
		{"core/wait", "core/journal"},
		{"core/broker", "sim"},
		{"core/door", "net"},
		{"core/log", "disk"},
		{"core/config", "node"},
		{"core/replica", "linearizability"},
		{"core/broker", "cmd/orrery"},
		{"core/nowhere", "core/env"},
		{"core/broker", "core/nowhere"},
		{"linearizability", "core/env"},
		{"net", "node"},
		{"node", "sim"},
		{"sim", "node"},
		{"elsewhere", "core/env"},
	} {
		require.NotEmpty(t, importFault(c.from, c.to), "%s imports %s", c.from, c.to)
	}
	for _, c := range []struct{ from, to string }{
		{"core/record", "core/env"}, {"core/broker", "core/door"}, {"core/replica", "core/log"},
		{"node", "net"}, {"sim", "core/broker"}, {"cmd/orrery", "linearizability"},
	} {
		require.Empty(t, importFault(c.from, c.to), "%s imports %s", c.from, c.to)
	}
}
