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
func Compress(c env.Codec, plain []byte) []byte {
	switch c {
	case env.None:
		return plain
	case env.Gzip:
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		must(w.Write(plain))
		must(0, w.Close())
		return b.Bytes()
	case env.Snappy:
		return compressXerial(plain)
	case env.LZ4:
		var b bytes.Buffer
		w := lz4.NewWriter(&b)
		must(0, w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.ConcurrencyOption(1)))
		must(w.Write(plain))
		must(0, w.Close())
		return b.Bytes()
	case env.Zstd:
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true))
		must(0, err)
		return e.EncodeAll(plain, nil)
	default:
		panic(fmt.Sprintf("codec: compress with codec %d", c))
	}
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
