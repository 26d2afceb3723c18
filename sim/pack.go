package sim

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
	"github.com/orrery-log/orrery/core/record/codec"
)

// pack puts a batch into a codec's clothes without compressing anything: stored
// blocks and literals, written here byte for byte, so that a seed gives the same
// bytes on every platform and with every version of a compression library.
func pack(b record.Batch, c env.Codec) record.Batch {
	if c == env.None {
		return b
	}
	out := append(record.Batch(nil), b[:record.HeaderSize]...)
	plain := b.Records()
	le := binary.LittleEndian
	switch c {
	case env.Gzip:
		out = append(out, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255)
		rest := plain
		for {
			n := min(len(rest), 0xffff)
			last := byte(0)
			if n == len(rest) {
				last = 1
			}
			out = append(out, last)
			out = le.AppendUint16(out, uint16(n))
			out = le.AppendUint16(out, ^uint16(n))
			out = append(out, rest[:n]...)
			if rest = rest[n:]; last == 1 {
				break
			}
		}
		out = le.AppendUint32(out, crc32.ChecksumIEEE(plain))
		out = le.AppendUint32(out, uint32(len(plain)))
	case env.Snappy: // the length, then one literal with a length of four bytes
		out = binary.AppendUvarint(out, uint64(len(plain)))
		out = append(out, 63<<2)
		out = le.AppendUint32(out, uint32(len(plain)-1))
		out = append(out, plain...)
	case env.LZ4: // one stored block of at most 64 KiB after the other
		out = append(out, 0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82)
		for rest := plain; len(rest) > 0; {
			n := min(len(rest), 1<<16)
			out = le.AppendUint32(out, uint32(n)|1<<31)
			out = append(out, rest[:n]...)
			rest = rest[n:]
		}
		out = le.AppendUint32(out, 0)
	case env.Zstd: // a single segment with its size in four bytes, raw blocks
		out = append(out, 0x28, 0xb5, 0x2f, 0xfd, 0xa0)
		out = le.AppendUint32(out, uint32(len(plain)))
		for rest := plain; len(rest) > 0; {
			n := min(len(rest), 1<<16)
			head := uint32(n) << 3
			if n == len(rest) {
				head |= 1
			}
			out = append(out, byte(head), byte(head>>8), byte(head>>16))
			out = append(out, rest[:n]...)
			rest = rest[n:]
		}
	}
	binary.BigEndian.PutUint32(out[8:], uint32(len(out)-12))
	binary.BigEndian.PutUint16(out[21:], uint16(b.Attributes()&^7)|uint16(c))
	out.Seal()
	return out
}

// unpack gives the plain records of a batch that pack made, byte for byte; any
// other batch goes to the real decompressors.
func unpack(b record.Batch) ([]byte, bool) {
	if b.Codec() == env.None {
		return b.Records(), true
	}
	if plain, ok := unpackStored(b); ok {
		return plain, true
	}
	plain, fault := codec.Decompress(b.Codec(), b.Records(), 1<<24)
	return plain, fault == codec.Sound
}

// unpackStored takes a single stored block off its frame.
func unpackStored(b record.Batch) ([]byte, bool) {
	data, le := b.Records(), binary.LittleEndian
	switch b.Codec() {
	case env.Gzip:
		if len(data) > 23 && data[10] == 1 && int(le.Uint16(data[11:])) == len(data)-23 && crc32.ChecksumIEEE(data[15:len(data)-8]) == le.Uint32(data[len(data)-8:]) {
			return data[15 : len(data)-8], true
		}
	case env.Snappy:
		if size, n := binary.Uvarint(data); n > 0 && len(data) > n+5 && data[n] == 63<<2 && int(size) == len(data)-n-5 {
			return data[n+5:], true
		}
	case env.LZ4:
		if len(data) > 15 && int(le.Uint32(data[7:])&^(1<<31)) == len(data)-15 {
			return data[11 : len(data)-4], true
		}
	case env.Zstd:
		if len(data) > 12 && int(le.Uint32(data[5:])) == len(data)-12 && data[9]&7 == 1 {
			return data[12:], true
		}
	}
	return nil, false
}
