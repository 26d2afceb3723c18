package codec

import (
	"math"

	"github.com/orrery-log/orrery/core/env"
)

// Records walks the records of one batch. It keeps none of their bytes.
//
//	length varint | attributes i8 | time delta varlong | offset delta varint
//	key length varint, key | value length varint, value
//	header count varint | { key length, key | value length, value }…
type Records struct {
	stream *Stream
	left   int32 // records to come
	body   int64 // bytes of this record not read yet
	fault  Fault
	why    string

	// Of the record that Next has read:
	OffsetDelta int32
	TimeDelta   int64
	Keyless     bool // the key is null
}

// Records begins to walk count records in data, which is compressed with c.
func (s *Scratch) Records(c env.Codec, data []byte, count int32, limit int64) *Records {
	s.records = Records{stream: s.Stream(c, data, limit), left: count}
	return &s.records
}

// Next reads one record. False: there is none, or Fault says why not.
func (r *Records) Next() bool {
	if r.left <= 0 || r.fault != Sound {
		return false
	}
	r.left--
	size, _, ok := r.stream.Varint(5)
	if !ok {
		return r.stopped()
	}
	if size < 0 {
		return r.wrong("a record of negative length")
	}
	r.body = size
	if !r.skip(1) || !r.times() || !r.keyValue() || !r.headers() {
		return false
	}
	if r.body != 0 {
		return r.wrong("a record is longer than its fields")
	}
	return true
}

func (r *Records) times() bool {
	v, ok := r.varint(10)
	if !ok {
		return false
	}
	r.TimeDelta = v
	if v, ok = r.varint(5); !ok {
		return false
	}
	if v < math.MinInt32 || v > math.MaxInt32 {
		return r.corrupt("an offset delta beyond 32 bits")
	}
	r.OffsetDelta = int32(v)
	return true
}

func (r *Records) keyValue() bool {
	null, ok := r.bytes(true)
	if !ok {
		return false
	}
	r.Keyless = null
	_, ok = r.bytes(true)
	return ok
}

func (r *Records) headers() bool {
	n, ok := r.varint(5)
	if !ok {
		return false
	}
	if n < 0 || n > r.body {
		return r.wrong("an impossible number of headers")
	}
	for ; n > 0; n-- {
		if _, ok := r.bytes(false); !ok {
			return false
		}
		if _, ok := r.bytes(true); !ok {
			return false
		}
	}
	return true
}

// bytes reads a length and skips as many bytes.
func (r *Records) bytes(nullable bool) (null, ok bool) {
	n, ok := r.varint(5)
	if !ok {
		return false, false
	}
	if n == -1 && nullable {
		return true, true
	}
	if n < 0 {
		return false, r.wrong("a field of negative length")
	}
	return false, r.skip(n)
}

func (r *Records) varint(max int) (int64, bool) {
	v, n, ok := r.stream.Varint(max)
	if !ok {
		return 0, r.stopped()
	}
	if r.body -= int64(n); r.body < 0 {
		return 0, r.wrong("a record is shorter than its fields")
	}
	return v, true
}

func (r *Records) skip(n int64) bool {
	if r.body -= n; r.body < 0 {
		return r.wrong("a record is shorter than its fields")
	}
	return r.stream.Skip(n) || r.stopped()
}

// End tells whether all records were sound and nothing follows them.
func (r *Records) End() bool {
	if r.fault != Sound {
		return false
	}
	if r.left > 0 {
		panic("codec: End before the last record")
	}
	if r.stream.AtEnd() {
		return true
	}
	if r.stream.Fault() != Sound {
		return r.stopped()
	}
	return r.wrong("bytes behind the last record")
}

// Fault tells why the walk ended, and in words.
func (r *Records) Fault() (Fault, string) { return r.fault, r.why }

func (r *Records) wrong(why string) bool {
	r.fault, r.why = Shape, why
	return false
}

func (r *Records) corrupt(why string) bool {
	r.fault, r.why = Corrupt, why
	return false
}

func (r *Records) stopped() bool {
	r.fault = r.stream.Fault()
	switch r.fault {
	case Short:
		r.why = "fewer records than the batch announces"
	case Corrupt:
		r.why = "records that can not be decompressed"
	case Huge:
		r.why = "records that decompress to more than may be held"
	default:
		panic("codec: a stream stopped without a fault")
	}
	return false
}
