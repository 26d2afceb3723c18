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
	if !isSnappy(block) {
		return nil, errBroken
	}
	return s2.Decode(buf[:cap(buf)], block)
}

// isSnappy tells whether block keeps to Snappy. The decoder also reads its
// successor S2, where a copy from offset 0 repeats the offset before; a client
// that sends that would be stored and not read by others. Whatever else is wrong
// with a block is left to the decoder.
func isSnappy(block []byte) bool {
	_, k := binary.Uvarint(block)
	if k <= 0 {
		return false
	}
	for at := k; at < len(block); {
		tag := block[at]
		switch tag & 3 {
		case 0: // a literal; from 60 on its length follows in 1 to 4 bytes
			n := int(tag >> 2)
			extra := max(0, n-59)
			if at+1+extra > len(block) {
				return false
			}
			if extra > 0 {
				n = 0
				for i := extra; i > 0; i-- {
					n = n<<8 | int(block[at+i])
				}
			}
			at += 1 + extra + n + 1
		case 1:
			if at+2 > len(block) || tag>>5 == 0 && block[at+1] == 0 {
				return false
			}
			at += 2
		case 2:
			at += 3
		case 3:
			at += 5
		}
	}
	return true
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
