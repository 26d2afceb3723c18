package plain

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

type inner struct {
	n     int64
	bytes []byte
	m     map[[2]int32]*inner
}

type root struct {
	name  string
	ok    bool
	list  []inner
	ptr   *inner
	empty []byte
	none  []byte
	array [3]uint16
	table map[string][]int8
}

func sample() *root {
	return &root{name: "a", ok: true, list: []inner{{n: -1}, {n: 1 << 60, bytes: []byte{1}}}, empty: []byte{}, none: nil, array: [3]uint16{1, 2, 65535},
		ptr:   &inner{m: map[[2]int32]*inner{{1, 2}: {n: 3}, {-1, 5}: {n: 4}}},
		table: map[string][]int8{"x": {1, -1}, "": nil, "y": {}}}
}

func TestAValueComesBackEqualAndSharesNothing(t *testing.T) {
	from, to := sample(), &root{}
	data, err := Encode(from)
	require.NoError(t, err)
	require.NoError(t, Decode(data, to))
	require.Equal(t, from, to)
	from.list[1].bytes[0] = 9
	from.ptr.m[[2]int32{1, 2}].n = 9
	require.Equal(t, sample(), to)
}

func TestEqualValuesGiveEqualBytes(t *testing.T) {
	one, err := Encode(sample())
	require.NoError(t, err)
	for range 20 {
		again, err := Encode(sample())
		require.NoError(t, err)
		require.Equal(t, one, again)
	}
}

func TestWhatIsNotATreeOfDataIsRefused(t *testing.T) {
	shared := &inner{}
	for name, v := range map[string]any{
		"a func":              &struct{ f func() }{func() {}},
		"an interface":        &struct{ e any }{1},
		"a channel":           &struct{ c chan int }{make(chan int)},
		"two pointers to one": &struct{ a, b *inner }{shared, shared},
	} {
		_, err := Encode(v)
		require.Error(t, err, name)
	}
}

func TestRefusedTypesAreNamedWithTheirPlace(t *testing.T) {
	type bad struct {
		ok   int
		deep []map[string]struct{ f func() }
		key  map[*int]bool
		e    error
	}
	found := Refused(reflect.TypeOf(bad{ok: 1, deep: nil, key: nil, e: nil}))
	require.Len(t, found, 3)
	require.Empty(t, Refused(reflect.TypeOf(root{})))
}
