package core

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// unit is one type-checked package under judgement.
type unit struct {
	path  string // below the module: "core/log"
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
	pkg   *types.Package
}

// breach is one place that breaks a rule of the core.
type breach struct {
	at   token.Position
	rule string
	text string
}

func (b breach) String() string { return fmt.Sprintf("%s: %s: %s", b.at, b.rule, b.text) }

// allowedImports are the packages outside of this module that every package of
// the core may use: pure functions of their arguments, all of them.
var allowedImports = []string{
	"bytes", "cmp", "encoding/binary", "encoding/hex", "errors", "fmt", "hash/crc32", "iter", "maps", "math", "math/bits",
	"slices", "sort", "strconv", "strings", "unicode", "unicode/utf8",
}

// allowedToSome are those that only the packages named may use.
var allowedToSome = map[string][]string{
	// The protocol stays at the door: inside, requests are small structs of our words.
	"github.com/twmb/franz-go/pkg/kmsg": {"core/env", "core/door", "core/broker"},
	"github.com/twmb/franz-go/pkg/kbin": {"core/door"},
	// Bytes of the codecs.
	"io":                                   {"core/record/codec", "core/door", "core/jobs"},
	"github.com/klauspost/compress/gzip":   {"core/record/codec"},
	"github.com/klauspost/compress/s2":     {"core/record/codec"},
	"github.com/klauspost/compress/snappy": {"core/record/codec"},
	"github.com/klauspost/compress/zstd":   {"core/record/codec"},
	"github.com/pierrec/lz4/v4":            {"core/record/codec"},
}

// tables are the package-level variables of the core: values that nothing ever
// changes, which Go has no constants for. Everything else at package level would
// be state outside of the root.
var tables = map[string]string{
	"core/record.castagnoli":        "the polynomial of CRC-32C, ready to use",
	"core/metadata.errShort":        "an error value",
	"core/metadata.errVarint":       "an error value",
	"core/metadata.errNull":         "an error value",
	"core/metadata.errTagSize":      "an error value",
	"core/config.brokerSettings":    "the table of Kafka's broker settings",
	"core/config.topicSettings":     "the table of Kafka's topic settings",
	"core/config.compressionTypes":  "the values of compression.type",
	"core/config.retentionSynonyms": "the broker settings behind retention.ms",
	"core/config.ignoredSettings":   "names that Kafka knows and we do not need",
	"core/config.ignoredPrefixes":   "beginnings of such names",
}

// orderedMark permits one range over a map. A reason has to follow: why can the
// result not depend on the order?
var orderedMark = regexp.MustCompile(`^//purity:ordered \S.{3,}`)

// judge applies every rule to one package. It returns the breaches, the number
// of marked ranges over maps, and the tables met.
func judge(u *unit) (breaches []breach, marked int, met []string) {
	j := &judging{unit: u, marks: make(map[string]map[int]bool), sorted: make(map[*ast.CallExpr]bool)}
	for _, f := range u.files {
		j.imports(f)
		j.readMarks(f)
	}
	for _, f := range u.files {
		for _, d := range f.Decls {
			j.declaration(d)
		}
		ast.Inspect(f, j.node)
	}
	j.mapKeys()
	slices.SortFunc(j.found, func(a, b breach) int { return strings.Compare(a.at.String(), b.at.String()) })
	return j.found, j.marked, j.met
}

type judging struct {
	*unit
	marks  map[string]map[int]bool // file -> line -> a mark stands there
	sorted map[*ast.CallExpr]bool  // calls whose result is sorted at once
	found  []breach
	marked int
	met    []string
}

func (j *judging) breach(at ast.Node, rule, format string, args ...any) {
	j.found = append(j.found, breach{j.fset.Position(at.Pos()), rule, fmt.Sprintf(format, args...)})
}

func (j *judging) imports(f *ast.File) {
	for _, spec := range f.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if strings.HasPrefix(path, module) || slices.Contains(allowedImports, path) || slices.Contains(allowedToSome[path], j.path) {
			continue
		}
		j.breach(spec, "import", "%s may not import %q", j.path, path)
	}
}

func (j *judging) readMarks(f *ast.File) {
	name := j.fset.Position(f.Pos()).Filename
	j.marks[name] = make(map[int]bool)
	for _, group := range f.Comments {
		for _, c := range group.List {
			switch {
			case orderedMark.MatchString(c.Text):
				j.marks[name][j.fset.Position(c.Pos()).Line] = true
			case strings.HasPrefix(c.Text, "//purity:"):
				j.breach(c, "mark", "%q is no mark; it is //purity:ordered and a reason", c.Text)
			}
		}
	}
}

// allowed says whether the range at this node is marked, on its line or the one before.
func (j *judging) allowed(at ast.Node) bool {
	p := j.fset.Position(at.Pos())
	if j.marks[p.Filename][p.Line] || j.marks[p.Filename][p.Line-1] {
		j.marked++
		return true
	}
	return false
}

// declaration looks at what stands at package level.
func (j *judging) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.Name == "init" {
			j.breach(d, "init", "an init function runs before anybody can see it")
		}
	case *ast.GenDecl:
		if d.Tok != token.VAR {
			return
		}
		for _, spec := range d.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				if name.Name == "_" {
					continue
				}
				key := j.path + "." + name.Name
				if tables[key] == "" {
					j.breach(name, "package variable", "%s is state outside of the root; if it never changes, name it in tables with the reason", key)
				} else {
					j.met = append(j.met, key)
				}
			}
		}
	}
}

// percentP finds the verb %p in a format.
var percentP = regexp.MustCompile(`%[-+# 0-9.\[\]*]*p`)

func (j *judging) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		j.breach(n, "goroutine", "nothing runs beside a Step")
	case *ast.SelectStmt:
		j.breach(n, "channel", "select")
	case *ast.SendStmt:
		j.breach(n, "channel", "send")
	case *ast.ChanType:
		j.breach(n, "channel", "a channel type")
	case *ast.UnaryExpr:
		switch n.Op {
		case token.ARROW:
			j.breach(n, "channel", "receive")
		case token.AND:
			j.change(n.X, "its address is taken")
		}
	case *ast.BasicLit:
		if n.Kind == token.STRING && percentP.MatchString(n.Value) {
			j.breach(n, "address", "%%p prints an address, which differs from run to run")
		}
	case *ast.AssignStmt:
		for _, x := range n.Lhs {
			j.change(x, "it is assigned to")
		}
	case *ast.IncDecStmt:
		j.change(n.X, "it is counted")
	case *ast.RangeStmt:
		if j.isMap(n.X) && !j.allowed(n) {
			j.breach(n, "map order", "the order of a map differs from run to run; sort the keys, or mark the line //purity:ordered and why the order cannot matter")
		}
	case *ast.CallExpr:
		j.call(n)
	}
	if x, ok := n.(ast.Expr); ok {
		j.float(x)
	}
	return true
}

func (j *judging) isMap(x ast.Expr) bool {
	t := j.info.TypeOf(x)
	if t == nil {
		return false
	}
	if p, ok := t.(*types.TypeParam); ok {
		t = p.Constraint()
		if i, ok := t.Underlying().(*types.Interface); ok {
			for k := range i.NumEmbeddeds() {
				if strings.Contains(i.EmbeddedType(k).String(), "map[") {
					return true
				}
			}
		}
		return false
	}
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// call: the iterators of package maps come in a map's order, unless they are
// sorted at once.
func (j *judging) call(n *ast.CallExpr) {
	switch name := j.callee(n); name {
	case "slices.Sorted", "slices.SortedFunc", "slices.SortedStableFunc":
		if inner, ok := n.Args[0].(*ast.CallExpr); ok {
			j.sorted[inner] = true
		}
	case "maps.Keys", "maps.Values", "maps.All":
		if !j.sorted[n] && !j.allowed(n) {
			j.breach(n, "map order", "%s comes in the order of a map; sort it at once with slices.Sorted", name)
		}
	case "maps.DeleteFunc", "maps.EqualFunc":
		if !j.allowed(n) {
			j.breach(n, "map order", "%s calls its function in the order of a map", name)
		}
	}
}

// callee is the called function as "package.Name", for functions of other packages.
func (j *judging) callee(n *ast.CallExpr) string {
	fun := n.Fun
	if i, ok := fun.(*ast.IndexExpr); ok {
		fun = i.X
	}
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	f, ok := j.info.Uses[sel.Sel].(*types.Func)
	if !ok || f.Pkg() == nil || f.Signature().Recv() != nil {
		return ""
	}
	return f.Pkg().Path() + "." + f.Name()
}

// change reports that a package-level variable, or a part of one, may be changed.
func (j *judging) change(x ast.Expr, how string) {
	at := x
	for {
		switch e := x.(type) {
		case *ast.ParenExpr:
			x = e.X
			continue
		case *ast.IndexExpr:
			x = e.X
			continue
		case *ast.SliceExpr:
			x = e.X
			continue
		case *ast.StarExpr:
			x = e.X
			continue
		case *ast.SelectorExpr:
			if v, ok := j.info.Uses[e.Sel].(*types.Var); ok && !v.IsField() {
				x = e.Sel // another package's variable
			} else {
				x = e.X
			}
			continue
		case *ast.Ident:
			v, ok := j.info.Uses[e].(*types.Var)
			if ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
				j.breach(at, "package variable", "%s must never change, and here %s", e.Name, how)
			}
		}
		return
	}
}

// float reports an expression of a floating-point type. Constants that become
// integers are none.
func (j *judging) float(x ast.Expr) {
	tv, ok := j.info.Types[x]
	if !ok || tv.Type == nil {
		return
	}
	if b, ok := tv.Type.Underlying().(*types.Basic); ok && b.Info()&(types.IsFloat|types.IsComplex) != 0 {
		j.breach(x, "float", "%s: rounding differs from platform to platform; use fixed point", tv.Type)
	}
}

// mapKeys reports map types whose keys hold addresses.
func (j *judging) mapKeys() {
	for x, tv := range j.info.Types {
		m, ok := tv.Type.(*types.Map)
		if ok && tv.IsType() && holdsAddress(m.Key(), 0) {
			j.breach(x, "address", "the key %s holds an address, which differs from run to run", m.Key())
		}
	}
}

func holdsAddress(t types.Type, depth int) bool {
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Chan, *types.Interface:
		_, param := t.(*types.TypeParam)
		return !param
	case *types.Basic:
		return u.Kind() == types.UnsafePointer || u.Kind() == types.Uintptr
	case *types.Array:
		return holdsAddress(u.Elem(), depth+1)
	case *types.Struct:
		for i := range u.NumFields() {
			if depth < 10 && holdsAddress(u.Field(i).Type(), depth+1) {
				return true
			}
		}
	}
	return false
}
