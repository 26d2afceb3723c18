package journal

import "encoding/binary"

// Reader reads our own compact encoding (varints, length-prefixed bytes) from
// bytes that may be damaged. It never panics and never returns more than it was
// given; the first misfit makes every later read zero and OK false.
type Reader struct {
	data []byte
	bad  bool
}

// NewReader reads data.
func NewReader(data []byte) Reader { return Reader{data: data} }

// OK tells whether everything fitted so far.
func (r *Reader) OK() bool { return !r.bad }

// Done tells whether everything fitted and nothing is left.
func (r *Reader) Done() bool { return !r.bad && len(r.data) == 0 }

// Fail marks the bytes as misfit: a value was read that can not be.
func (r *Reader) Fail() { r.bad, r.data = true, nil }

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if len(r.data) == 0 {
		r.Fail()
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return b
}

// Uvarint reads an unsigned number.
func (r *Reader) Uvarint() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.Fail()
		return 0
	}
	r.data = r.data[n:]
	return v
}

// Varint reads a signed number.
func (r *Reader) Varint() int64 {
	v, n := binary.Varint(r.data)
	if n <= 0 {
		r.Fail()
		return 0
	}
	r.data = r.data[n:]
	return v
}

// Int32 reads a signed number that fits 32 bits.
func (r *Reader) Int32() int32 {
	v := r.Varint()
	if v != int64(int32(v)) {
		r.Fail()
		return 0
	}
	return int32(v)
}

// Int16 reads a signed number that fits 16 bits.
func (r *Reader) Int16() int16 {
	v := r.Varint()
	if v != int64(int16(v)) {
		r.Fail()
		return 0
	}
	return int16(v)
}

// Natural reads a number from 0 to the largest int64.
func (r *Reader) Natural() int64 {
	v := r.Uvarint()
	if int64(v) < 0 {
		r.Fail()
		return 0
	}
	return int64(v)
}

// Int32Natural reads a number from 0 to 2^31-1.
func (r *Reader) Int32Natural() int32 {
	v := r.Uvarint()
	if v > 1<<31-1 {
		r.Fail()
		return 0
	}
	return int32(v)
}

// Count reads the number of things that follow, each at least size bytes, so
// that nothing is allocated for what can not be there.
func (r *Reader) Count(size int) int {
	v := r.Uvarint()
	if v > uint64(len(r.data)/size) {
		r.Fail()
		return 0
	}
	return int(v)
}

// AppendBool appends a yes or no.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

// Bool reads a yes or no.
func (r *Reader) Bool() bool {
	v := r.Byte()
	if v > 1 {
		r.Fail()
	}
	return v == 1
}
