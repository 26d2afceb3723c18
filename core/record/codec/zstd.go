package codec

import (
	"errors"

	"github.com/klauspost/compress/zstd"
)

const (
	// zstdWhole is how large a batch may become and still be decompressed in one
	// go, which spares the window: many producers announce 2 MiB for a few KiB.
	zstdWhole = 1 << 20
	// zstdWindow is the largest window held for a batch that is streamed: what
	// level 19 of zstd uses.
	zstdWindow = 8 << 20
)

func (s *Scratch) openZstd(data []byte, limit int64) {
	if s.zstd == nil {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(128<<20), zstd.WithDecoderMaxMemory(zstdWhole))
		if err != nil {
			panic("codec: a zstd reader does not take its options: " + err.Error())
		}
		s.zstd = d
	}
	plain, err := s.zstd.DecodeAll(data, s.plain[:0])
	if err == nil {
		s.plain = keep(plain)
		s.stream.data, s.stream.given = plain, int64(len(plain))
		return
	}
	if !errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		s.stream.fault = Corrupt
		return
	}
	s.streamZstd(data, limit)
}

// streamZstd reads a large batch with no more than a window in memory. It takes
// a decoder of its own, so that a large window does not outlive the batch.
func (s *Scratch) streamZstd(data []byte, limit int64) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(uint64(min(limit, zstdWindow))))
	if err != nil || d.Reset(&s.input) != nil {
		s.stream.fault = Corrupt
		return
	}
	s.stream.from = s.pieces(d)
}
