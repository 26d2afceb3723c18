package log

import (
	"fmt"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
)

// Account is what a log's checkpoint says, for people who look at a data directory.
type Account struct {
	Removed            bool
	Start, Stored, End int64
	Lost               int64 // records that are known to be lost, accepted or not
	Segments           []SegmentAccount
}

// SegmentAccount is one segment as the checkpoint counts it. Of one that is not
// sealed the file may have more: a start trims that.
type SegmentAccount struct {
	ID           env.SegmentID
	From, End    int64 // offsets
	Size, Footer int64 // bytes
	Sealed       bool
}

// ReadAccount reads a checkpoint's header. Not ok: it is none.
func ReadAccount(id env.LogID, header []byte, seq env.Seq) (a Account, ok bool) {
	l, ok := Restore(id, header, seq, env.DefaultLimits())
	if !ok {
		return a, false
	}
	a = Account{Removed: l.gone, Start: l.start, Stored: l.check.stored, End: l.end}
	for _, s := range l.damage.spans {
		a.Lost += s.to - s.from
	}
	for i := range l.segments {
		s := &l.segments[i]
		a.Segments = append(a.Segments, SegmentAccount{ID: s.id, From: s.from, End: s.end, Size: s.size, Footer: s.footer, Sealed: s.state == sealed})
	}
	return a, true
}

// Check judges a segment file's bytes: what the checkpoint counts must be whole
// batches with rising offsets whose checksums fit, and a footer that fits them.
func (a *SegmentAccount) Check(data []byte) (batches int, fault string) {
	if int64(len(data)) < a.Size+a.Footer {
		return 0, fmt.Sprintf("the file has %d bytes of %d", len(data), a.Size+a.Footer)
	}
	batches, end, n, fault := CheckBatches(data[:a.Size], a.From)
	switch {
	case fault != "":
		return batches, fault
	case n < a.Size:
		return batches, fmt.Sprintf("byte %d begins no whole batch", n)
	case a.Size > 0 && end > a.End:
		return batches, fmt.Sprintf("it has records up to %d, and is to end at %d", end, a.End)
	case !a.Sealed:
		return batches, ""
	}
	f, ok := parseFooter(data[a.Size : a.Size+a.Footer])
	if !ok || f.size != a.Size {
		return batches, "the footer is damaged"
	}
	for i := range f.runs {
		r, to := &f.runs[i], f.size
		if i+1 < len(f.runs) {
			to = f.runs[i+1].at
		}
		if record.CRC(data[r.at:to]) != r.sum {
			return batches, fmt.Sprintf("the bytes from %d to %d are not those that were sealed", r.at, to)
		}
	}
	return batches, ""
}

// CheckBatches goes over whole batches of rising offsets from data's beginning: how
// many, behind which offset, up to which byte. A fault: a whole batch is wrong.
func CheckBatches(data []byte, from int64) (batches int, end, n int64, fault string) {
	end = from
	for rest := data; ; batches++ {
		b, next, ok := record.Next(rest)
		if !ok {
			return batches, end, n, ""
		}
		if b.Magic() != 2 || !b.Sound() {
			return batches, end, n, fmt.Sprintf("the batch at byte %d fails its checksum", n)
		}
		if b.LastOffset() < end || b.End() <= b.BaseOffset() {
			return batches, end, n, fmt.Sprintf("the batch at byte %d has the offsets %d to %d, and %d comes next", n, b.BaseOffset(), b.LastOffset(), end)
		}
		n += int64(len(b))
		end, rest = b.End(), next
	}
}
