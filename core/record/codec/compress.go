package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/orrery-log/orrery/core/env"
)

// Decompress gives the plain bytes of data, at most limit of them.
func Decompress(c env.Codec, data []byte, limit int64) ([]byte, Fault) {
	var s Scratch
	in := s.Stream(c, data, limit)
	var plain []byte
	for in.more() {
		if int64(len(plain)+len(in.data)) > limit {
			return nil, Huge
		}
		plain = append(plain, in.data...)
		in.data = nil
	}
	if in.fault != Short {
		return nil, in.fault
	}
	return plain, Sound
}

// Compress compresses plain with c the way Kafka's own producer does: framed
// snappy, independent LZ4 blocks of 64 KiB.
func Compress(c env.Codec, plain []byte) []byte { return CompressLevel(c, plain, 0) }

// CompressLevel is Compress at a level of Kafka's compression.*.level settings.
// 0 is the codec's default, as is -1 of gzip and 9 of LZ4 (Kafka's own default,
// for which it takes the fast compressor).
func CompressLevel(c env.Codec, plain []byte, level int) []byte {
	switch c {
	case env.None:
		return plain
	case env.Gzip:
		return compressGzip(plain, level)
	case env.Snappy:
		return compressXerial(plain)
	case env.LZ4:
		return compressLZ4(plain, level)
	case env.Zstd:
		return compressZstd(plain, level)
	default:
		panic(fmt.Sprintf("codec: compress with codec %d", c))
	}
}

func compressGzip(plain []byte, level int) []byte {
	if level == 0 {
		level = gzip.DefaultCompression
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	must(0, err)
	must(w.Write(plain))
	must(0, w.Close())
	return b.Bytes()
}

func compressLZ4(plain []byte, level int) []byte {
	of := lz4.Fast
	if level > 0 && level != 9 {
		of = lz4.Level1 << (min(level, 9) - 1)
	}
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	must(0, w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.ConcurrencyOption(1), lz4.CompressionLevelOption(of)))
	must(w.Write(plain))
	must(0, w.Close())
	return b.Bytes()
}

func compressZstd(plain []byte, level int) []byte {
	of := zstd.SpeedDefault
	if level != 0 {
		of = zstd.EncoderLevelFromZstd(level)
	}
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true), zstd.WithEncoderLevel(of))
	must(0, err)
	return e.EncodeAll(plain, nil)
}

// xerialChunk is snappy-java's block size.
const xerialChunk = 32 << 10

func compressXerial(plain []byte) []byte {
	out := append(make([]byte, 0, 64+len(plain)/2), xerialMagic...)
	out = binary.BigEndian.AppendUint32(out, 1)
	out = binary.BigEndian.AppendUint32(out, 1)
	for len(plain) > 0 {
		n := min(len(plain), xerialChunk)
		block := s2.EncodeSnappy(nil, plain[:n])
		out = binary.BigEndian.AppendUint32(out, uint32(len(block)))
		out = append(out, block...)
		plain = plain[n:]
	}
	return out
}

// must holds for writes into memory with options that are constants.
func must(_ int, err error) {
	if err != nil {
		panic("codec: compressing in memory failed: " + err.Error())
	}
}
