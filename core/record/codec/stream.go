package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/orrery-log/orrery/core/env"
)

// Fault says why a stream of records can not be read on.
type Fault uint8

const (
	Sound   Fault = iota
	Short         // the plain bytes ended cleanly before the records did
	Corrupt       // the compressed bytes, or a varint in the plain ones, make no sense
	Shape         // the plain bytes are not the records the header announces
	Huge          // a window or a total that nobody should have to hold
)

// MaxPlain is how many plain bytes a batch may have. They are not held, but a
// consumer reads them all, and no client can hold more in one record.
const MaxPlain = math.MaxInt32

// pieceSize is how much is decompressed at a time where the codec lets us choose.
const pieceSize = 32 << 10

// Scratch keeps decoders and buffers from one batch to the next. Its zero value
// is ready; it serves one batch at a time.
type Scratch struct {
	stream  Stream
	records Records
	input   bytes.Reader
	gzip    *gzip.Reader
	zstd    *zstd.Decoder
	lz4     *lz4.Reader
	xerial  xerial
	piece   []byte // pieces of the codecs that stream
	plain   []byte // a snappy block or a small zstd frame, whole
}

// source gives the plain bytes piece by piece; a piece lives until the next.
type source interface {
	// next returns a piece that is not empty, io.EOF behind the last, or why not.
	next() ([]byte, error)
}

// Stream is the plain bytes of a batch's records, read from front to back.
type Stream struct {
	data  []byte // not read yet
	from  source // gives more; nil: data is all
	given int64  // plain bytes seen so far
	fault Fault
}

// Stream begins to read data, which is compressed with c. Nothing larger than
// limit is ever held. The stream lives until the Scratch's next use.
func (s *Scratch) Stream(c env.Codec, data []byte, limit int64) *Stream {
	s.stream = Stream{}
	if c == env.None {
		s.stream.data, s.stream.given = data, int64(len(data))
		return &s.stream
	}
	s.input.Reset(data)
	switch c {
	case env.Gzip:
		s.openGzip()
	case env.Snappy:
		s.openSnappy(data, limit)
	case env.LZ4:
		s.openLZ4(data)
	case env.Zstd:
		s.openZstd(data, limit)
	default:
		s.stream.fault = Corrupt
	}
	return &s.stream
}

// Release lets go of the bytes last read; the buffers stay.
func (s *Scratch) Release() {
	s.input.Reset(nil)
	s.xerial = xerial{}
	s.stream, s.records = Stream{}, Records{}
}

func (s *Scratch) openGzip() {
	if s.gzip == nil {
		s.gzip = new(gzip.Reader)
	}
	if s.gzip.Reset(&s.input) != nil {
		s.stream.fault = Corrupt
		return
	}
	s.stream.from = s.pieces(s.gzip)
}

func (s *Scratch) pieces(r io.Reader) source {
	if s.piece == nil {
		s.piece = make([]byte, pieceSize)
	}
	return &pieces{r: r, buf: s.piece}
}

// pieces makes a source of a decompressing reader.
type pieces struct {
	r   io.Reader
	buf []byte
}

func (p *pieces) next() ([]byte, error) {
	for range 100 { // a reader that gives nothing and no error is broken
		n, err := p.r.Read(p.buf)
		if n > 0 {
			return p.buf[:n], nil // an error comes again with the next call
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, io.ErrNoProgress
}

// more makes data non-empty, or tells that it can not.
func (s *Stream) more() bool {
	if len(s.data) > 0 {
		return true
	}
	if s.fault != Sound {
		return false
	}
	if s.from == nil {
		s.fault = Short
		return false
	}
	piece, err := s.from.next()
	switch {
	case err == nil:
		s.data = piece
		s.given += int64(len(piece))
		if s.given > MaxPlain {
			s.data, s.fault = nil, Huge
			return false
		}
		return true
	case err == io.EOF:
		s.fault = Short
	case errors.Is(err, errHuge):
		s.fault = Huge
	default:
		s.fault = Corrupt
	}
	return false
}

// Skip reads n bytes and forgets them.
func (s *Stream) Skip(n int64) bool {
	for n > int64(len(s.data)) {
		n -= int64(len(s.data))
		s.data = nil
		if !s.more() {
			return false
		}
	}
	s.data = s.data[n:]
	return true
}

// Varint reads one zigzag varint of at most max bytes (5: an int32, 10: an
// int64) and tells how many it took.
func (s *Stream) Varint(max int) (v int64, size int, ok bool) {
	if len(s.data) >= max {
		v, size = binary.Varint(s.data[:max])
		if size <= 0 {
			s.fault = Corrupt
			return 0, 0, false
		}
		s.data = s.data[size:]
		return v, size, true
	}
	var u uint64
	for shift := 0; size < max; shift += 7 {
		if !s.more() {
			return 0, 0, false
		}
		b := s.data[0]
		s.data = s.data[1:]
		size++
		if size == 10 && b > 1 {
			break
		}
		u |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return int64(u>>1) ^ -int64(u&1), size, true
		}
	}
	s.fault = Corrupt
	return 0, 0, false
}

// AtEnd tells whether nothing follows. A stream that is broken there is not at
// its end: see Fault.
func (s *Stream) AtEnd() bool {
	if s.more() {
		return false
	}
	return s.fault == Short
}

// Fault tells why reading stopped.
func (s *Stream) Fault() Fault { return s.fault }
