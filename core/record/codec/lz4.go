package codec

import (
	"encoding/binary"

	"github.com/pierrec/lz4/v4"
)

// Bits of an LZ4 frame's first descriptor byte.
const (
	lz4Magic           = 0x184D2204
	lz4Independent     = 0x20
	lz4BlockChecksum   = 0x10
	lz4ContentSize     = 0x08
	lz4ContentChecksum = 0x04
	lz4Version         = 0x40 // of the two highest bits
	lz4Stored          = 1 << 31
)

func (s *Scratch) openLZ4(data []byte) {
	if !lz4Kafka(data) {
		s.stream.fault = Corrupt
		return
	}
	if s.lz4 == nil {
		s.lz4 = lz4.NewReader(nil)
	}
	s.lz4.Reset(&s.input)
	if s.lz4.Apply(lz4.ConcurrencyOption(1)) != nil {
		panic("codec: an LZ4 reader does not take its options")
	}
	s.stream.from = s.pieces(s.lz4)
}

// lz4Kafka tells whether data is one frame as a Java consumer reads it: with
// independent blocks, without a dictionary, with nothing behind its end mark.
// Other decoders read more, but what is stored must be readable by all.
func lz4Kafka(data []byte) bool {
	if len(data) < 7 || binary.LittleEndian.Uint32(data) != lz4Magic {
		return false
	}
	flags := data[4]
	if flags&^(lz4BlockChecksum|lz4ContentSize|lz4ContentChecksum) != lz4Version|lz4Independent {
		return false
	}
	at := int64(7)
	if flags&lz4ContentSize != 0 {
		at += 8
	}
	for at+4 <= int64(len(data)) {
		size := int64(binary.LittleEndian.Uint32(data[at:]) &^ lz4Stored)
		at += 4
		if size == 0 {
			if flags&lz4ContentChecksum != 0 {
				at += 4
			}
			return at == int64(len(data))
		}
		at += size
		if flags&lz4BlockChecksum != 0 {
			at += 4
		}
	}
	return false
}
