package codec

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/s2"
)

// Snappy comes in two dresses: one raw block, as most clients write it, or the
// framing of snappy-java, as Kafka itself writes it:
//
//	82 "SNAPPY" 00 | version u32 | compatible u32 | { length u32 | raw block }…
//
// The header may come again between chunks, where streams were joined.
const (
	xerialMagic  = "\x82SNAPPY\x00"
	xerialHeader = 16
	// snappyRatio bounds how much a raw block can grow: three bytes of a copy
	// element give at most 64.
	snappyRatio = 22
)

// failure is an error that is a constant.
type failure string

func (f failure) Error() string { return string(f) }

const (
	errHuge   failure = "larger than may be held"
	errBroken failure = "broken"
)

func isXerial(data []byte) bool {
	return len(data) >= len(xerialMagic) && string(data[:len(xerialMagic)]) == xerialMagic
}

// openSnappy decompresses a raw block whole, since a copy may reach back to its
// beginning, and framed ones chunk by chunk.
func (s *Scratch) openSnappy(data []byte, limit int64) {
	if len(data) >= xerialHeader && isXerial(data) {
		s.xerial = xerial{data: data, limit: limit, scratch: s}
		s.stream.from = &s.xerial
		return
	}
	plain, err := unsnap(s.plain, data, limit)
	switch {
	case err == nil:
		s.plain = keep(plain)
		s.stream.data, s.stream.given = plain, int64(len(plain))
	case errors.Is(err, errHuge):
		s.stream.fault = Huge
	default:
		s.stream.fault = Corrupt
	}
}

// unsnap decompresses one raw block into buf if that is large enough.
func unsnap(buf, block []byte, limit int64) ([]byte, error) {
	n, err := s2.DecodedLen(block)
	if err != nil || int64(n) > int64(len(block))*snappyRatio {
		return nil, errBroken
	}
	if int64(n) > limit {
		return nil, errHuge
	}
	return s2.Decode(buf[:cap(buf)], block)
}

// keptPlain is the largest buffer that outlives its batch.
const keptPlain = 1 << 20

func keep(buf []byte) []byte {
	if cap(buf) > keptPlain {
		return nil
	}
	return buf[:0]
}

// xerial is the source of framed snappy.
type xerial struct {
	data    []byte
	limit   int64
	scratch *Scratch // its plain is where chunks go
}

func (x *xerial) next() ([]byte, error) {
	for {
		for isXerial(x.data) {
			if len(x.data) < xerialHeader {
				return nil, io.ErrUnexpectedEOF
			}
			x.data = x.data[xerialHeader:]
		}
		if len(x.data) == 0 {
			return nil, io.EOF
		}
		if len(x.data) < 4 {
			return nil, io.ErrUnexpectedEOF
		}
		n := int64(binary.BigEndian.Uint32(x.data))
		if n > int64(len(x.data)-4) {
			return nil, io.ErrUnexpectedEOF
		}
		plain, err := unsnap(x.scratch.plain, x.data[4:4+n], x.limit)
		if err != nil {
			return nil, err
		}
		x.data = x.data[4+n:]
		x.scratch.plain = keep(plain)
		if len(plain) > 0 {
			return plain, nil
		}
	}
}
