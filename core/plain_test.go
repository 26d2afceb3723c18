package core

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"

	"github.com/stretchr/testify/require"
)

// notPlain walks a type and all that it holds, and lists the fields that are no
// plain data: funcs, channels, interfaces and raw addresses (law 7).
func notPlain(t types.Type, at string, seen map[types.Type]bool) []string {
	if seen[t] {
		return nil
	}
	seen[t] = true
	switch u := types.Unalias(t).Underlying().(type) {
	case *types.Basic:
		if u.Kind() == types.UnsafePointer || u.Kind() == types.Uintptr {
			return []string{at + " is an address"}
		}
	case *types.Signature:
		return []string{at + " is a func"}
	case *types.Chan:
		return []string{at + " is a channel"}
	case *types.Interface:
		return []string{fmt.Sprintf("%s is an interface (%s)", at, t)}
	case *types.Pointer:
		return notPlain(u.Elem(), at, seen)
	case *types.Slice:
		return notPlain(u.Elem(), at+"[]", seen)
	case *types.Array:
		return notPlain(u.Elem(), at+"[]", seen)
	case *types.Map:
		return append(notPlain(u.Key(), at+"[key]", seen), notPlain(u.Elem(), at+"[]", seen)...)
	case *types.Struct:
		var all []string
		for i := range u.NumFields() {
			all = append(all, notPlain(u.Field(i).Type(), at+"."+u.Field(i).Name(), seen)...)
		}
		return all
	default:
		return []string{fmt.Sprintf("%s is of an unknown kind (%s)", at, t)}
	}
	return nil
}

func TestABrokerIsPlainDataUnderOneRoot(t *testing.T) {
	u := load(t, nil, "./core/broker")[0]
	root := u.pkg.Scope().Lookup("Broker")
	require.NotNil(t, root, "core/broker has no type Broker")
	for _, fault := range notPlain(root.Type(), "Broker", make(map[types.Type]bool)) {
		t.Error(fault)
	}
}

func TestAFieldThatIsNoPlainDataIsFound(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{`type T struct{ F func() }`, "T.F is a func"},
		{`type T struct{ C chan int }`, "T.C is a channel"},
		{`type T struct{ E error }`, "T.E is an interface (error)"},
		{`type T struct{ M map[string][]inner }; type inner struct{ p *deep }; type deep struct{ a [2]any }`, "T.M[][].p.a[] is an interface (any)"},
		{`type T struct{ next *T; U uintptr }`, "T.U is an address"},
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "t.go", "package t; "+c.source, 0)
		require.NoError(t, err)
		pkg, err := new(types.Config).Check("t", fset, []*ast.File{f}, nil)
		require.NoError(t, err)
		require.Equal(t, []string{c.want}, notPlain(pkg.Scope().Lookup("T").Type(), "T", make(map[types.Type]bool)))
	}
}
