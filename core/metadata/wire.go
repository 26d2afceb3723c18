package metadata

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// Kafka's flexible encoding: fixed integers are big-endian, lengths are uvarints
// one higher than they are (0 is null), and each struct ends with tagged fields.

func appendString(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s))+1)
	return append(b, s...)
}

func appendNullable(b []byte, s string, null bool) []byte {
	if null {
		return append(b, 0)
	}
	return appendString(b, s)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendInt16(b []byte, v int16) []byte { return binary.BigEndian.AppendUint16(b, uint16(v)) }
func appendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }
func appendInt64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

func appendInt32s(b []byte, v []int32) []byte {
	b = binary.AppendUvarint(b, uint64(len(v))+1)
	for _, n := range v {
		b = appendInt32(b, n)
	}
	return b
}

// appendTag writes a tagged field: number, size, bytes.
func appendTag(b []byte, number uint64, field []byte) []byte {
	b = binary.AppendUvarint(b, number)
	b = binary.AppendUvarint(b, uint64(len(field)))
	return append(b, field...)
}

// reader reads the encoding. After the first fault it gives zeros and keeps err.
// No length is believed before the bytes are there.
type reader struct {
	rest []byte
	err  error
}

var (
	errShort   = errors.New("metadata record: it ends too early")
	errVarint  = errors.New("metadata record: a length is no uvarint of 32 bits")
	errNull    = errors.New("metadata record: null where a value must be")
	errTagSize = errors.New("metadata record: a tagged field is longer or shorter than it says")
)

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rest = nil
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.fail(errShort)
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) int8() int8 {
	if b := r.take(1); b != nil {
		return int8(b[0])
	}
	return 0
}

func (r *reader) bool() bool { return r.int8() != 0 }

func (r *reader) int16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *reader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) int64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (r *reader) uuid() (id [16]byte) {
	copy(id[:], r.take(16))
	return id
}

func (r *reader) uvarint() uint32 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || bits.Len64(v) > 32 {
		r.fail(errVarint)
		return 0
	}
	r.rest = r.rest[n:]
	return uint32(v)
}

// nullable reads a string; null comes out as ("", true).
func (r *reader) nullable() (s string, null bool) {
	n := r.uvarint()
	if n == 0 {
		return "", true
	}
	return string(r.take(int(n - 1))), false
}

func (r *reader) string() string {
	s, null := r.nullable()
	if null && r.err == nil {
		r.fail(errNull)
	}
	return s
}

// count reads the length of an array whose elements have at least size bytes each.
func (r *reader) count(size int) int {
	n := r.uvarint()
	if n == 0 {
		if r.err == nil {
			r.fail(errNull)
		}
		return 0
	}
	if int64(n-1)*int64(size) > int64(len(r.rest)) {
		r.fail(errShort)
		return 0
	}
	return int(n - 1)
}

func (r *reader) int32s() []int32 {
	n := r.count(4)
	v := make([]int32, 0, n)
	for range n {
		v = append(v, r.int32())
	}
	return v
}

// tags reads the tagged fields; known gets each and tells whether it read it.
// What it does not know is skipped.
func (r *reader) tags(known func(number uint32, field *reader) bool) {
	n := r.uvarint()
	for range n {
		if r.err != nil {
			return
		}
		number := r.uvarint()
		field := reader{rest: r.take(int(r.uvarint()))}
		if known == nil || !known(number, &field) {
			continue
		}
		if field.err != nil || len(field.rest) != 0 {
			r.fail(errTagSize)
		}
	}
}
