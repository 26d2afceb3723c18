package codec

import (
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	// zstdWhole is how large a batch may become and still be decompressed in one
	// go, which spares the window: many producers announce 2 MiB for a few KiB.
	zstdWhole = 1 << 20
	// zstdWindow is the largest window that is held because a frame announces it:
	// what level 19 of zstd uses. Levels beyond it are decompressed whole, so that
	// memory grows with what is there.
	zstdWindow = 8 << 20
	// zstdWindowMax is what Kafka's own decoder takes (zstd's window log 27).
	zstdWindowMax = 128 << 20
)

func newZstd(opts ...zstd.DOption) *zstd.Decoder {
	opts = append(opts, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	d, err := zstd.NewReader(nil, opts...)
	if err != nil {
		panic("codec: a zstd reader does not take its options: " + err.Error())
	}
	return d
}

// openZstd decompresses a small batch whole, into a buffer that is kept. A larger
// one is streamed if its window may be held, else decompressed whole.
func (s *Scratch) openZstd(data []byte, limit int64) {
	var h zstd.Header
	if h.Decode(data) != nil {
		s.stream.fault = Corrupt
		return
	}
	small := min(zstdWhole, limit)
	if first := zstdFirst(h, len(data)); s.zstdInto(data, min(first, small)) || first < small && s.zstdInto(data, small) {
		return
	}
	// The decoders of large batches are not kept: they hold a window or more.
	if held := max(h.WindowSize, contentOf(h, h.SingleSegment)); held > uint64(min(limit, zstdWindow)) {
		s.zstdWhole(data, held, limit)
		return
	}
	d := newZstd(zstd.WithDecoderMaxWindow(uint64(min(limit, zstdWindow))))
	if d.Reset(&s.input) != nil {
		s.stream.fault = Corrupt
		return
	}
	s.stream.from = s.pieces(zstdReader{d})
}

// zstdFirst guesses how much a batch of n bytes decompresses to.
func zstdFirst(h zstd.Header, n int) int64 {
	guess := max(64<<10, 8*int64(n))
	if content := contentOf(h, h.HasFCS); content > 0 && content < zstdWhole {
		guess = int64(content)
	}
	return min(guess, zstdWhole)
}

func contentOf(h zstd.Header, given bool) uint64 {
	if given {
		return h.FrameContentSize
	}
	return 0
}

// zstdInto decompresses data into at most size bytes. False: it is larger, or
// broken; the decoder does not always tell which.
func (s *Scratch) zstdInto(data []byte, size int64) bool {
	if s.zstd == nil {
		s.zstd = newZstd(zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxWindow(zstdWindowMax))
	}
	if int64(cap(s.plain)) < size {
		s.plain = make([]byte, 0, size)
	}
	plain, err := s.zstd.DecodeAll(data, s.plain[:0])
	if err != nil {
		return false
	}
	s.plain = keep(plain)
	s.stream.data, s.stream.given = plain, int64(len(plain))
	return true
}

// zstdWhole decompresses data whose window is too large to be held on its word:
// what is held is the plain bytes themselves, as far as they have come.
func (s *Scratch) zstdWhole(data []byte, window uint64, limit int64) {
	if window > uint64(limit) {
		s.stream.fault = Huge
		return
	}
	d := newZstd(zstd.WithDecoderMaxMemory(uint64(limit)))
	plain, err := d.DecodeAll(data, nil)
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded):
		s.stream.fault = Huge
	case err != nil:
		s.stream.fault = Corrupt
	default:
		s.stream.data, s.stream.given = plain, int64(len(plain))
	}
}

// zstdReader says in our words when a later frame needs too large a window.
type zstdReader struct{ r io.Reader }

func (z zstdReader) Read(p []byte) (int, error) {
	n, err := z.r.Read(p)
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		err = errHuge
	}
	return n, err
}
