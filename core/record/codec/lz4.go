package codec

import (
	"encoding/binary"

	"github.com/pierrec/lz4/v4"
)

// Kafka reads the frame format of LZ4 with independent blocks only, so a batch
// with dependent ones would be stored and never read by a Java consumer.
const (
	lz4Magic       = 0x184D2204
	lz4Independent = 0x20
)

func (s *Scratch) openLZ4(data []byte) {
	if len(data) < 7 || binary.LittleEndian.Uint32(data) != lz4Magic || data[4]&lz4Independent == 0 {
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
