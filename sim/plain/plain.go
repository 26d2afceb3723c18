package plain

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// Encode gives the bytes of *ptr.
func Encode(ptr any) (data []byte, err error) {
	v := reflect.ValueOf(ptr)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil, errors.New("plain: Encode needs a pointer")
	}
	e := encoder{seen: map[unsafe.Pointer]reflect.Type{}}
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(refusal)
			if !ok {
				panic(r)
			}
			err = f
		}
	}()
	e.value(v.Elem(), v.Elem().Type().String())
	return e.out, nil
}

// Decode makes *ptr the value that data was made of. *ptr must be zero.
func Decode(data []byte, ptr any) (err error) {
	v := reflect.ValueOf(ptr)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return errors.New("plain: Decode needs a pointer")
	}
	d := decoder{in: data}
	d.value(v.Elem())
	if len(d.in) != 0 {
		return fmt.Errorf("plain: %d bytes are left over", len(d.in))
	}
	return nil
}

// Refused lists what keeps a type from being plain data, each with its place.
func Refused(t reflect.Type) []string {
	var found []string
	walk(t, t.String(), map[reflect.Type]bool{}, func(place, what string) { found = append(found, place+": "+what) })
	return found
}

func walk(t reflect.Type, place string, done map[reflect.Type]bool, refuse func(place, what string)) {
	if done[t] {
		return
	}
	done[t] = true
	switch t.Kind() {
	case reflect.Func, reflect.Chan, reflect.Interface, reflect.UnsafePointer, reflect.Uintptr:
		refuse(place, t.String())
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		refuse(place, t.String())
	case reflect.Pointer, reflect.Slice, reflect.Array:
		walk(t.Elem(), place, done, refuse)
	case reflect.Map:
		walk(t.Key(), place+" key", done, refuse)
		walk(t.Elem(), place, done, refuse)
		if holdsPointer(t.Key()) {
			refuse(place, "a pointer as key")
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			walk(f.Type, t.String()+"."+f.Name, done, refuse)
		}
	}
}

func holdsPointer(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer:
		return true
	case reflect.Array:
		return holdsPointer(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if holdsPointer(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

type refusal string

func (r refusal) Error() string { return "plain: " + string(r) }

type encoder struct {
	out  []byte
	seen map[unsafe.Pointer]reflect.Type
}

func (e *encoder) uint(x uint64) { e.out = binary.AppendUvarint(e.out, x) }

// value writes an addressable value.
func (e *encoder) value(v reflect.Value, place string) {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			e.out = append(e.out, 1)
		} else {
			e.out = append(e.out, 0)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.out = binary.AppendVarint(e.out, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		e.uint(v.Uint())
	case reflect.String:
		e.uint(uint64(v.Len()))
		e.out = append(e.out, v.String()...)
	case reflect.Pointer:
		if v.IsNil() {
			e.out = append(e.out, 0)
			return
		}
		at := v.UnsafePointer()
		if t, twice := e.seen[at]; twice && t == v.Type() && v.Type().Elem().Size() > 0 {
			panic(refusal(place + ": a second pointer to one " + v.Type().Elem().String()))
		}
		e.seen[at] = v.Type()
		e.out = append(e.out, 1)
		e.value(v.Elem(), place)
	case reflect.Slice:
		if v.IsNil() {
			e.uint(0)
			return
		}
		e.uint(uint64(v.Len()) + 1)
		if v.Type().Elem().Kind() == reflect.Uint8 {
			e.out = append(e.out, v.Bytes()...)
			return
		}
		for i := range v.Len() {
			e.value(v.Index(i), place)
		}
	case reflect.Array:
		for i := range v.Len() {
			e.value(v.Index(i), place)
		}
	case reflect.Map:
		e.mapping(v, place)
	case reflect.Struct:
		t := v.Type()
		for i := range v.NumField() {
			e.value(open(v.Field(i)), t.String()+"."+t.Field(i).Name)
		}
	default:
		panic(refusal(place + ": a " + v.Type().String()))
	}
}

// mapping writes a map in the order of its keys' bytes.
func (e *encoder) mapping(v reflect.Value, place string) {
	if v.IsNil() {
		e.uint(0)
		return
	}
	e.uint(uint64(v.Len()) + 1)
	outer := e.out
	pairs := make([][2][]byte, 0, v.Len())
	for it := v.MapRange(); it.Next(); {
		e.out = nil
		e.value(addressable(it.Key()), place)
		key := e.out
		e.out = nil
		e.value(addressable(it.Value()), place)
		pairs = append(pairs, [2][]byte{key, e.out})
	}
	slices.SortFunc(pairs, func(a, b [2][]byte) int { return bytes.Compare(a[0], b[0]) })
	e.out = outer
	for _, p := range pairs {
		e.out = append(append(e.out, p[0]...), p[1]...)
	}
}

// open makes an unexported field readable and writable.
func open(v reflect.Value) reflect.Value {
	if v.CanSet() {
		return v
	}
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}

func addressable(v reflect.Value) reflect.Value {
	a := reflect.New(v.Type()).Elem()
	a.Set(v)
	return a
}

type decoder struct{ in []byte }

func (d *decoder) uint() uint64 {
	x, n := binary.Uvarint(d.in)
	if n <= 0 {
		panic("plain: bytes of another type")
	}
	d.in = d.in[n:]
	return x
}

func (d *decoder) int() int64 {
	x, n := binary.Varint(d.in)
	if n <= 0 {
		panic("plain: bytes of another type")
	}
	d.in = d.in[n:]
	return x
}

func (d *decoder) take(n int) []byte {
	b := d.in[:n:n]
	d.in = d.in[n:]
	return b
}

func (d *decoder) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(d.take(1)[0] == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(d.int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(d.uint())
	case reflect.String:
		v.SetString(string(d.take(int(d.uint()))))
	case reflect.Pointer:
		if d.take(1)[0] == 1 {
			v.Set(reflect.New(v.Type().Elem()))
			d.value(v.Elem())
		}
	case reflect.Slice:
		n := int(d.uint()) - 1
		if n < 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		if v.Type().Elem().Kind() == reflect.Uint8 {
			copy(v.Bytes(), d.take(n))
			return
		}
		for i := range n {
			d.value(v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			d.value(v.Index(i))
		}
	case reflect.Map:
		n := int(d.uint()) - 1
		if n < 0 {
			return
		}
		v.Set(reflect.MakeMapWithSize(v.Type(), n))
		for range n {
			key := reflect.New(v.Type().Key()).Elem()
			d.value(key)
			value := reflect.New(v.Type().Elem()).Elem()
			d.value(value)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			d.value(open(v.Field(i)))
		}
	default:
		panic("plain: can not decode a " + v.Type().String())
	}
}
