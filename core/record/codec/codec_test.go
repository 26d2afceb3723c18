package codec

import (
	"bytes"
	stdgzip "compress/gzip"
	"encoding/binary"
	"io"
	"runtime"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orrery-log/orrery/core/env"
)

const limit = 64 << 20

// encoder is one way a client compresses.
type encoder struct {
	name   string
	codec  env.Codec
	encode func([]byte) []byte
}

func written(plain []byte, open func(io.Writer) io.WriteCloser) []byte {
	var b bytes.Buffer
	w := open(&b)
	must(w.Write(plain))
	must(0, w.Close())
	return b.Bytes()
}

func encoders() []encoder {
	own := func(c env.Codec) func([]byte) []byte { return func(p []byte) []byte { return Compress(c, p) } }
	return []encoder{
		{"none", env.None, own(env.None)},
		{"gzip", env.Gzip, own(env.Gzip)},
		{"gzip of the standard library", env.Gzip, func(p []byte) []byte {
			return written(p, func(w io.Writer) io.WriteCloser { return stdgzip.NewWriter(w) })
		}},
		{"gzip, stored only", env.Gzip, func(p []byte) []byte {
			return written(p, func(w io.Writer) io.WriteCloser {
				z, _ := stdgzip.NewWriterLevel(w, stdgzip.NoCompression)
				return z
			})
		}},
		{"snappy, framed", env.Snappy, own(env.Snappy)},
		{"snappy, framed and joined", env.Snappy, func(p []byte) []byte {
			return append(Compress(env.Snappy, p[:len(p)/2]), Compress(env.Snappy, p[len(p)/2:])...)
		}},
		{"snappy, raw", env.Snappy, func(p []byte) []byte { return s2.EncodeSnappy(nil, p) }},
		{"lz4", env.LZ4, own(env.LZ4)},
		{"lz4, 4 MiB blocks and every checksum", env.LZ4, func(p []byte) []byte {
			return written(p, func(w io.Writer) io.WriteCloser {
				z := lz4.NewWriter(w)
				must(0, z.Apply(lz4.BlockSizeOption(lz4.Block4Mb), lz4.BlockChecksumOption(true), lz4.SizeOption(uint64(len(p)))))
				return z
			})
		}},
		{"zstd", env.Zstd, own(env.Zstd)},
		{"zstd, streamed", env.Zstd, func(p []byte) []byte {
			return written(p, func(w io.Writer) io.WriteCloser {
				z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
				must(0, err)
				return z
			})
		}},
		{"zstd, largest window", env.Zstd, func(p []byte) []byte {
			return written(p, func(w io.Writer) io.WriteCloser {
				z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(32<<20), zstd.WithSingleSegment(false))
				must(0, err)
				return z
			})
		}},
	}
}

func TestEveryClientsDressIsDecompressed(t *testing.T) {
	for _, e := range encoders() {
		t.Run(e.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				plain := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "plain")
				plain = bytes.Repeat(plain, rapid.IntRange(1, 600).Draw(t, "times"))
				got, fault := Decompress(e.codec, e.encode(plain), limit)
				require.Equal(t, Sound, fault)
				require.True(t, bytes.Equal(plain, got))
			})
		})
	}
}

func TestEveryLevelThatAConfigMayNameCompresses(t *testing.T) {
	plain := bytes.Repeat([]byte("plain bytes, and again plain bytes; "), 3000)
	for _, c := range []struct {
		codec  env.Codec
		levels []int
	}{
		{env.None, []int{0}}, {env.Snappy, []int{0}},
		{env.Gzip, []int{-1, 0, 1, 2, 5, 6, 9}},
		{env.LZ4, []int{0, 1, 2, 8, 9, 10, 17}},
		{env.Zstd, []int{-131072, -1, 0, 1, 3, 7, 15, 22}},
	} {
		for _, level := range c.levels {
			data := CompressLevel(c.codec, plain, level)
			got, fault := Decompress(c.codec, data, limit)
			require.Equal(t, Sound, fault, "codec %d level %d", c.codec, level)
			require.True(t, bytes.Equal(plain, got), "codec %d level %d", c.codec, level)
			if c.codec != env.None {
				require.Less(t, len(data), len(plain)/4, "codec %d level %d", c.codec, level)
			}
		}
	}
	require.Equal(t, lz4.Level9, lz4.Level1<<8)
}

func TestMoreThanAMegabyteOfZstdIsDecompressed(t *testing.T) {
	plain := make([]byte, 3<<20)
	for i := range plain {
		plain[i] = byte(i * i >> 7)
	}
	for _, e := range encoders() {
		if e.codec == env.Zstd {
			got, fault := Decompress(e.codec, e.encode(plain), limit)
			require.Equal(t, Sound, fault, e.name)
			require.True(t, bytes.Equal(plain, got), e.name)
		}
	}
}

func TestAScratchServesOneBatchAfterTheOther(t *testing.T) {
	var s Scratch
	plain := bytes.Repeat([]byte{9, 8, 7}, 1000)
	for range 3 {
		for _, e := range encoders() {
			for _, data := range [][]byte{e.encode(plain), e.encode(plain)[:7]} {
				if e.codec == env.None && len(data) == 7 {
					continue
				}
				in := s.Stream(e.codec, data, limit)
				ok := in.Skip(int64(len(plain))) && in.AtEnd()
				require.Equal(t, len(data) > 7, ok, e.name)
				s.Release()
			}
		}
	}
}

func TestACutStreamIsCorruptAndNotShort(t *testing.T) {
	plain := bytes.Repeat([]byte("some plain bytes"), 50)
	for _, e := range encoders() {
		data := e.encode(plain)
		for n := range len(data) {
			if e.codec == env.None || n == 0 {
				continue
			}
			var s Scratch
			in := s.Stream(e.codec, data[:n], limit)
			ok := in.Skip(int64(len(plain))) && in.AtEnd()
			if ok {
				require.Equal(t, "never", e.name, "%d of %d bytes were taken for all", n, len(data))
			}
			if in.Fault() == Short {
				// Framed snappy may end between two chunks, or behind its header.
				require.Contains(t, e.name, "framed", "%d of %d bytes", n, len(data))
			}
		}
	}
}

// zeros gives head, as many zeros and tail, made of equal parts so that a large
// stream is quickly made.
func zeros(c env.Codec, head []byte, total int, tail []byte) []byte {
	var out []byte
	part := func(plain []byte) []byte { return Compress(c, plain) }
	end := []byte(nil)
	unit := 4 << 20
	if c == env.LZ4 {
		part = lz4Block
		out = append(out, Compress(env.LZ4, nil)[:7]...)
		out[5] = 7 << 4 // blocks of up to 4 MiB
		out[6] = lz4HeaderCheck(4 << 20)
		end = make([]byte, 4)
	}
	out = append(out, part(head)...)
	for whole := part(make([]byte, unit)); total > 0; total -= unit {
		out = append(out, whole...)
	}
	return append(append(out, part(tail)...), end...)
}

func lz4Block(plain []byte) []byte {
	dst := make([]byte, lz4.CompressBlockBound(len(plain)))
	n, err := lz4.CompressBlock(plain, dst, nil)
	must(n, err)
	if n == 0 || n >= len(plain) { // does not compress: stored
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(plain))|lz4Stored), plain...)
	}
	return append(binary.LittleEndian.AppendUint32(nil, uint32(n)), dst[:n]...)
}

// lz4HeaderCheck is the checksum of a descriptor of blocks of that size, taken
// from a frame of the library, since its xxHash is not ours to call.
func lz4HeaderCheck(size lz4.BlockSize) byte {
	data := written([]byte{1}, func(w io.Writer) io.WriteCloser {
		z := lz4.NewWriter(w)
		must(0, z.Apply(lz4.BlockSizeOption(size), lz4.ChecksumOption(false)))
		return z
	})
	return data[6]
}

// allocated tells how many bytes f allocates in all, those it lets go included.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestAGibibyteOfZerosIsReadAndNotHeld(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of decompressing")
	}
	const gib = 1 << 30
	head := []byte{0, 0, 0, 1} // attributes, time, offset delta, null key
	head = binary.AppendVarint(head, gib)
	tail := []byte{0}
	head = append(binary.AppendVarint(nil, int64(len(head)+gib+len(tail))), head...)
	for _, c := range []env.Codec{env.Gzip, env.Snappy, env.LZ4, env.Zstd} {
		data := zeros(c, head, gib, tail)
		var s Scratch
		used := allocated(func() {
			walk := s.Records(c, data, 1, limit)
			require.True(t, walk.Next(), "codec %d", c)
			require.True(t, walk.End(), "codec %d", c)
		})
		require.Less(t, used, uint64(24<<20), "codec %d", c)
	}
}

func TestMoreThanABatchMayHaveIsHuge(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of decompressing")
	}
	data := zeros(env.Zstd, nil, 2<<30, nil)
	var s Scratch
	in := s.Stream(env.Zstd, data, limit)
	require.False(t, in.Skip(2<<30))
	require.Equal(t, Huge, in.Fault())
}

func TestWhatMustBeHeldIsBounded(t *testing.T) {
	const small = 1 << 20
	plain := make([]byte, 4<<20)
	block := s2.EncodeSnappy(nil, plain)
	framed := append(binary.BigEndian.AppendUint32(Compress(env.Snappy, nil), uint32(len(block))), block...)
	largeWindow := written(plain, func(w io.Writer) io.WriteCloser {
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(32<<20))
		must(0, err)
		return z
	})
	for _, c := range []struct {
		name  string
		codec env.Codec
		data  []byte
		want  Fault
	}{
		{"a raw block that decompresses to more", env.Snappy, block, Huge},
		{"a framed block that does", env.Snappy, framed, Huge},
		{"a raw block that only announces it", env.Snappy, binary.AppendUvarint(nil, 1<<31-1), Corrupt},
		{"a zstd frame with a window of 32 MiB", env.Zstd, largeWindow, Huge},
		{"a zstd frame that is its own window", env.Zstd, Compress(env.Zstd, plain), Huge},
		{"a zstd frame that announces 2^63 bytes", env.Zstd, []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 0, 0}, Huge},
	} {
		var s Scratch
		used := allocated(func() {
			in := s.Stream(c.codec, c.data, small)
			require.False(t, in.Skip(int64(len(plain))) && in.AtEnd(), c.name)
			require.Equal(t, c.want, in.Fault(), c.name)
		})
		require.Less(t, used, uint64(6<<20), c.name)
	}
}

func TestS2IsNoSnappy(t *testing.T) {
	// A match that goes on behind a changed byte makes S2 repeat its offset.
	plain := bytes.Repeat([]byte("a line that comes again and again, but not the same: 0123456789\n"), 200)
	for i := range 200 {
		plain[i*64+20] = byte(i)
	}
	_, fault := Decompress(env.Snappy, s2.EncodeSnappy(nil, plain), limit)
	require.Equal(t, Sound, fault)
	_, fault = Decompress(env.Snappy, s2.Encode(nil, plain), limit)
	require.Equal(t, Corrupt, fault)
}

func TestLZ4AsOnlyOthersReadItIsCorrupt(t *testing.T) {
	plain := bytes.Repeat([]byte("plain"), 100)
	sound := Compress(env.LZ4, plain)
	dependent := append([]byte{}, sound...)
	dependent[4] &^= lz4Independent
	skippable := append([]byte{0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0}, sound...)
	for name, data := range map[string][]byte{
		"two frames":       append(append([]byte{}, sound...), sound...),
		"a byte behind":    append(append([]byte{}, sound...), 0),
		"dependent blocks": dependent,
		"a skipped frame":  skippable,
		"no end mark":      sound[:len(sound)-4],
		"nothing":          {},
	} {
		_, fault := Decompress(env.LZ4, data, limit)
		require.Equal(t, Corrupt, fault, name)
	}
}

func TestVarintsReadTheSameInPiecesAndWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOfN(rapid.Byte(), 1, 14).Draw(t, "raw")
		if rapid.Bool().Draw(t, "valid") {
			raw = binary.AppendVarint(nil, rapid.Int64().Draw(t, "v"))
		}
		size := rapid.SampledFrom([]int{5, 10}).Draw(t, "max")
		whole := Stream{data: append(append([]byte{}, raw...), make([]byte, 10)...)}
		bytewise := Stream{from: &bytewise{append(append([]byte{}, raw...), make([]byte, 10)...)}}
		v1, n1, ok1 := whole.Varint(size)
		v2, n2, ok2 := bytewise.Varint(size)
		require.Equal(t, ok1, ok2)
		require.Equal(t, whole.Fault(), bytewise.Fault())
		if ok1 {
			require.Equal(t, [2]int64{v1, int64(n1)}, [2]int64{v2, int64(n2)})
		}
	})
}

type bytewise struct{ data []byte }

func (b *bytewise) next() ([]byte, error) {
	if len(b.data) == 0 {
		return nil, io.EOF
	}
	piece := b.data[:1:1]
	b.data = b.data[1:]
	return piece, nil
}
