package log

import (
	"encoding/binary"

	"github.com/orrery-log/orrery/core/journal"
	"github.com/orrery-log/orrery/core/record"
)

// footer is what stands behind the batches of a sealed segment:
//
//	body | length of the body u32 | CRC-32C of the body u32 | magic u32
//
// body: version, first offset, end, bytes of batches, the runs (each with the
// checksum of its bytes, which also covers what a batch's CRC leaves out), and
// the leader epochs. Numbers are varints, each run relative to the one before.
// Producers are not here: their state is known as of the log's end only, which is
// further on when a segment is sealed, and every checkpoint has it.
type footer struct {
	from, end, size int64
	runs            []run
	epochs          []epochStart
}

const (
	footerMagic   = 0x4f525946 // "ORYF"
	footerVersion = 1
	footerTrailer = 12
)

func appendFooter(b []byte, f *footer) []byte {
	start := len(b)
	b = append(b, footerVersion)
	b = binary.AppendUvarint(b, uint64(f.from))
	b = binary.AppendUvarint(b, uint64(f.end-f.from))
	b = binary.AppendUvarint(b, uint64(f.size))
	b = appendRuns(b, f.from, f.runs)
	b = appendEpochs(b, f.epochs)
	return appendTrailer(b, start)
}

// appendTrailer ends the footer whose body begins at start.
func appendTrailer(b []byte, start int) []byte {
	body := b[start:]
	sum := record.CRC(body)
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)))
	b = binary.BigEndian.AppendUint32(b, sum)
	return binary.BigEndian.AppendUint32(b, footerMagic)
}

// parseFooter reads a whole footer. Not ok: these bytes are none.
func parseFooter(data []byte) (f footer, ok bool) {
	if len(data) < footerTrailer {
		return f, false
	}
	body, trailer := data[:len(data)-footerTrailer], data[len(data)-footerTrailer:]
	if binary.BigEndian.Uint32(trailer[8:]) != footerMagic || binary.BigEndian.Uint32(trailer) != uint32(len(body)) ||
		binary.BigEndian.Uint32(trailer[4:]) != record.CRC(body) {
		return f, false
	}
	r := journal.NewReader(body)
	if r.Byte() != footerVersion {
		return f, false
	}
	f.from = r.Natural()
	f.end = f.from + r.Natural()
	f.size = r.Natural()
	f.runs = readRuns(&r, f.from, f.end, f.size)
	f.epochs = readEpochs(&r)
	return f, r.Done() && f.end >= f.from
}

func appendRuns(b []byte, from int64, runs []run) []byte {
	b = binary.AppendUvarint(b, uint64(len(runs)))
	base, at := from, int64(0)
	for i := range runs {
		r := &runs[i]
		b = binary.AppendUvarint(b, uint64(r.base-base))
		b = binary.AppendUvarint(b, uint64(r.at-at))
		b = binary.AppendVarint(b, r.maxTime)
		b = binary.AppendUvarint(b, uint64(r.maxTimeAt-r.base))
		b = binary.BigEndian.AppendUint32(b, r.sum)
		base, at = r.base, r.at
	}
	return b
}

// readRuns reads runs of a segment with the given bounds; they rise in offset and byte.
func readRuns(r *journal.Reader, from, end, size int64) []run {
	n := r.Count(8)
	var runs []run
	if n > 0 {
		runs = make([]run, 0, n)
	}
	base, at := from, int64(0)
	for i := range n {
		v := run{base: base + r.Natural(), at: at + r.Natural(), maxTime: r.Varint()}
		v.maxTimeAt = v.base + r.Natural()
		v.sum = uint32(r.Byte())<<24 | uint32(r.Byte())<<16 | uint32(r.Byte())<<8 | uint32(r.Byte())
		first := i == 0
		if v.base < base || v.base >= end || v.at < at || v.at >= size || v.maxTimeAt < v.base || v.maxTimeAt >= end ||
			!first && (v.base == base || v.at == at) || first && (v.base != from || v.at != 0) {
			r.Fail()
		}
		if !r.OK() {
			return nil
		}
		base, at = v.base, v.at
		runs = append(runs, v)
	}
	return runs
}

func appendEpochs(b []byte, list []epochStart) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, e := range list {
		b = binary.AppendVarint(b, int64(e.epoch))
		b = binary.AppendUvarint(b, uint64(e.start))
	}
	return b
}

// readEpochs reads epochs that rise with their starts.
func readEpochs(r *journal.Reader) []epochStart {
	n := r.Count(2)
	var list []epochStart
	if n > 0 {
		list = make([]epochStart, 0, n)
	}
	for i := range n {
		e := epochStart{epoch: r.Int32(), start: r.Natural()}
		if i > 0 && (e.epoch <= list[i-1].epoch || e.start <= list[i-1].start) {
			r.Fail()
		}
		if !r.OK() {
			return nil
		}
		list = append(list, e)
	}
	return list
}

// within are the epochs of the records from from to end, the first one beginning at from or later.
func (e *epochs) within(from, end int64) []epochStart {
	var list []epochStart
	for i, s := range e.list {
		if s.start >= end || i+1 < len(e.list) && e.list[i+1].start <= from {
			continue
		}
		list = append(list, epochStart{s.epoch, max(s.start, from)})
	}
	return list
}
