package core

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

const module = "github.com/orrery-log/orrery/"

// markedMost is how many ranges over maps may be marked as free of order. Raise
// it only for a loop whose result a reader can see to be the same in any order.
const markedMost = 12

// load type-checks packages of the module; overlay replaces files.
func load(t *testing.T, overlay map[string][]byte, patterns ...string) []*unit {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{
		Mode:    packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedExportFile,
		Dir:     root(t),
		Overlay: overlay,
	}, patterns...)
	require.NoError(t, err)
	var units []*unit
	for _, p := range loaded {
		require.Empty(t, p.Errors, "%s does not compile", p.PkgPath)
		if len(p.Syntax) > 0 {
			units = append(units, &unit{strings.TrimPrefix(p.PkgPath, module), p.Fset, p.Syntax, p.TypesInfo, p.Types})
		}
	}
	require.NotEmpty(t, units)
	return units
}

// root is the directory of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("..")
	require.NoError(t, err)
	_, err = os.Stat(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	return dir
}

func TestTheCoreIsPure(t *testing.T) {
	marked, met := 0, []string{}
	for _, u := range load(t, nil, "./core/...") {
		breaches, m, tablesMet := judge(u)
		for _, b := range breaches {
			t.Error(b)
		}
		marked += m
		met = append(met, tablesMet...)
	}
	if marked > markedMost {
		t.Errorf("%d ranges over maps are marked as free of order; at most %d may be", marked, markedMost)
	}
	for name := range tables {
		if !slices.Contains(met, name) {
			t.Errorf("tables names %s, which is not there any more", name)
		}
	}
	t.Logf("%d ranges over maps are marked, %d tables", marked, len(met))
}

// The judge itself is judged: each rule is broken once, in the smallest program.
func TestEachBreachOfPurityIsFound(t *testing.T) {
	cases := []struct{ rule, source string }{
		{"import", `import "time"; var _ = time.Now`},
		{"import", `import "math/rand/v2"; func f() int { return rand.Int() }`},
		{"import", `import "crypto/rand"; func f() { rand.Text() }`},
		{"import", `import "sync"; type t struct{ mu sync.Mutex }`},
		{"import", `import "os"; func f() { os.Exit(1) }`},
		{"import", `import "unsafe"; const n = unsafe.Sizeof(0)`},
		{"import", `import "io"; var _ io.Reader`},
		{"goroutine", `func f() { go f() }`},
		{"channel", `func f(c chan int) {}`},
		{"channel", `func f() { select {} }`},
		{"channel", `type t struct{ c <-chan int }`},
		{"float", `func f(n int) int { return int(float64(n) * 1.5) }`},
		{"float", `type t struct{ ratio float32 }`},
		{"float", `func f(c complex128) {}`},
		{"address", `import "fmt"; func f(p *int) string { return fmt.Sprintf("%p", p) }`},
		{"address", `import "fmt"; func f(p *int) string { return fmt.Sprintf("at %#08p", p) }`},
		{"address", `type t struct{ m map[*int]bool }`},
		{"address", `type k struct{ a int; p *int }; var _ map[k]bool`},
		{"address", `func f(m map[any]bool) {}`},
		{"package variable", `var cache map[string]int`},
		{"package variable", `var count int`},
		{"package variable", `var limits = [2]int{1, 2}; func f() { limits[0] = 3 }`},
		{"package variable", `var n int; func f() { n++ }`},
		{"package variable", `var n int; func f() *int { return &n }`},
		{"init", `func init() {}`},
		{"map order", `func f(m map[int]int) { for range m { println() } }`},
		{"map order", `type t map[int]int; func f(m t) (s int) { for k := range m { s = k }; return }`},
		{"map order", `func f[M ~map[K]V, K comparable, V any](m M) { for k := range m { println(k) } }`},
		{"map order", `import "maps"; func f(m map[int]int) { for k := range maps.Keys(m) { println(k) } }`},
		{"map order", `import "maps"; import "slices"; func f(m map[int]int) []int { return slices.Collect(maps.Values(m)) }`},
		{"mark", "func f(m map[int]int) {\n//purity:ordered\nfor range m { println() } }"},
		{"mark", "func f() {} //purity:whatever it is"},
	}
	for _, c := range cases {
		breaches, _, _ := judge(check(t, c.source))
		require.NotEmpty(t, breaches, "%s: %s", c.rule, c.source)
		require.True(t, slices.ContainsFunc(breaches, func(b breach) bool { return b.rule == c.rule }), "%s: %s: %v", c.rule, c.source, breaches)
	}
}

func TestWhatIsPureIsNotAccused(t *testing.T) {
	for _, source := range []string{
		`import "slices"; import "maps"; func f(m map[int]int) []int { return slices.Sorted(maps.Keys(m)) }`,
		"func f(m map[int]int) (n int) { for _, v := range m { n += v } //purity:ordered\n return }",
		`func f(m map[int]int, k int) { delete(m, k); clear(m); m[1] = 2 }`,
		`func f(s []int) { for i := range s { s[i]++ } }`,
		`const big = int64(1e9); func f() int64 { return big / 2 }`,
		`import "fmt"; func f() { panic(fmt.Sprintf("%d%% of %v", 1, "p")) }`,
		`type id [16]byte; type key struct{ id id; n int32 }; type t struct{ m map[key]*t; p *t }`,
		`var _ error = (*e)(nil); type e struct{}; func (*e) Error() string { return "" }`,
	} {
		source = strings.ReplaceAll(source, "//purity:ordered\n", "//purity:ordered a sum\n")
		breaches, _, _ := judge(check(t, source))
		require.Empty(t, breaches, source)
	}
}

// check type-checks the source of a small package of the core.
func check(t *testing.T, source string) *unit {
	t.Helper()
	u := &unit{path: "core/planted", fset: token.NewFileSet(), info: &types.Info{
		Types: make(map[ast.Expr]types.TypeAndValue), Uses: make(map[*ast.Ident]types.Object), Defs: make(map[*ast.Ident]types.Object),
	}}
	f, err := parser.ParseFile(u.fset, "planted.go", "package planted; "+source, parser.ParseComments)
	require.NoError(t, err, source)
	u.files = []*ast.File{f}
	config := types.Config{Importer: imports(u.fset), Error: func(error) {}} // an unused variable is no matter here
	u.pkg, _ = config.Check("planted", u.fset, u.files, u.info)
	return u
}

// standard reads the types of the standard library once.
var standard types.Importer

func imports(fset *token.FileSet) types.Importer {
	if standard == nil {
		standard = importer.ForCompiler(fset, "source", nil)
	}
	return standard
}

// The whole way, from files to the verdict: a call of time.Now, a range over a map
// and a goroutine planted into a real file of the core turn the test red.
func TestAPlantedBreachInARealFileIsFound(t *testing.T) {
	file := filepath.Join(root(t), "core", "wait", "queue.go")
	source, err := os.ReadFile(file)
	require.NoError(t, err)
	planted := strings.Replace(string(source), "\nimport (", "\nimport (\n\t\"time\"", 1)
	require.NotEqual(t, string(source), planted, "queue.go has no import block to plant into")
	planted += `
func planted(m map[int]int) (last int) {
	go planted(m)
	for k := range m {
		last = k + time.Now().Nanosecond()
	}
	return last
}
`
	units := load(t, map[string][]byte{file: []byte(planted)}, "./core/wait")
	require.Len(t, units, 1)
	var rules []string
	breaches, _, _ := judge(units[0])
	for _, b := range breaches {
		rules = append(rules, b.rule)
		require.Equal(t, file, b.at.Filename)
	}
	require.ElementsMatch(t, []string{"import", "goroutine", "map order"}, rules)
}
