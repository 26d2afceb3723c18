package journal

import (
	"fmt"

	"github.com/orrery-log/orrery/core/env"
)

// Journal counts one shard's journal: what was given to it, what is written,
// what is synced, what it still holds.
type Journal struct {
	next            env.Seq // the Seq of the next entry
	written, synced env.Seq // synced <= written < next
	cut             env.Seq // entries before it are given up; cut <= next

	// Bytes of the entries from cut to next, in order; the first is sizes[head].
	sizes     []int32
	head      int
	unwritten int64 // bytes of the entries behind written
	behind    int64 // bytes of the entries from cut on

	spare []byte // headers are cut from it, so that an entry costs no allocation
}

// New is a journal whose next entry gets Seq next: 1, or one behind the last survivor.
func New(next env.Seq) Journal {
	if next == 0 {
		panic("journal: Seq 0 means none")
	}
	return Journal{next: next, written: next - 1, synced: next - 1, cut: next}
}

// Survived counts an entry that recovery hands over, in Seq order. All before
// it that is missing was cut, or is damaged.
func (j *Journal) Survived(e *env.Entry) {
	if e.Seq < j.next {
		panic(fmt.Sprintf("journal: entry %d survived behind %d", e.Seq, j.next-1))
	}
	if j.cut == j.next && len(j.sizes) == j.head {
		j.cut, j.next = e.Seq, e.Seq
	}
	for ; j.next < e.Seq; j.next++ {
		j.sizes = append(j.sizes, 0)
	}
	j.sizes = append(j.sizes, int32(e.Size()))
	j.behind += e.Size()
	j.next = e.Seq + 1
	j.written, j.synced = e.Seq, e.Seq
}

// Skip makes sure that no Seq up to upto is given again.
func (j *Journal) Skip(upto env.Seq) {
	for ; j.next <= upto; j.next++ {
		j.sizes = append(j.sizes, 0)
	}
	j.written, j.synced = j.next-1, j.next-1
}

// Append gives the entry its Seq and puts it into the Outbox.
func (j *Journal) Append(out *env.Outbox, e env.Entry) env.Seq {
	e.Seq = j.next
	j.next++
	size := e.Size()
	if size != int64(int32(size)) {
		panic(fmt.Sprintf("journal: entry of %d bytes", size))
	}
	j.sizes = append(j.sizes, int32(size))
	j.unwritten += size
	j.behind += size
	out.Journal = append(out.Journal, e)
	return e.Seq
}

// Confirm learns how far the disk is.
func (j *Journal) Confirm(ev env.Journaled) {
	if ev.Synced > ev.Written || ev.Written >= j.next {
		panic(fmt.Sprintf("journal: written %d, synced %d, but the next is %d", ev.Written, ev.Synced, j.next))
	}
	if ev.Written < j.written || ev.Synced < j.synced {
		panic(fmt.Sprintf("journal: progress fell from %d/%d to %d/%d", j.written, j.synced, ev.Written, ev.Synced))
	}
	for s := max(j.written+1, j.cut); s <= ev.Written; s++ {
		j.unwritten -= int64(j.sizes[j.head+int(s-j.cut)])
	}
	j.written, j.synced = ev.Written, ev.Synced
}

// Next is the Seq that the next entry gets.
func (j *Journal) Next() env.Seq { return j.next }

// Written is the last entry that survives the death of the process.
func (j *Journal) Written() env.Seq { return j.written }

// Synced is the last entry that survives the loss of power.
func (j *Journal) Synced() env.Seq { return j.synced }

// Unwritten is the bytes of entries that are not Written.
func (j *Journal) Unwritten() int64 { return j.unwritten }

// Behind is the bytes that the journal holds: those of entries not cut.
func (j *Journal) Behind() int64 { return j.behind }

// Cut is the first entry that is not given up.
func (j *Journal) Cut() env.Seq { return j.cut }

// mayCut: nothing that is not Synced may be given up, for what stands in its
// place must be Synced, and that comes later in the journal.
func (j *Journal) mayCut(seq env.Seq) bool { return seq <= j.synced+1 }

// CutTo gives up the entries before seq. Whoever calls has made sure that no
// log needs them.
func (j *Journal) CutTo(out *env.Outbox, seq env.Seq) {
	if !j.mayCut(seq) {
		panic(fmt.Sprintf("journal: cut to %d, synced to %d", seq, j.synced))
	}
	if seq <= j.cut {
		return
	}
	for ; j.cut < seq; j.cut++ {
		j.behind -= int64(j.sizes[j.head])
		j.head++
	}
	if j.head == len(j.sizes) {
		j.sizes, j.head = j.sizes[:0], 0
	} else if j.head >= 1024 && j.head*2 >= len(j.sizes) {
		n := copy(j.sizes, j.sizes[j.head:])
		j.sizes, j.head = j.sizes[:n], 0
	}
	out.Cuts = append(out.Cuts, seq)
}

// spareSize is cut into headers: large enough to cost nothing, small enough
// that one header kept does not pin much.
const spareSize = 8 << 10

// headerRoom bounds the headers that Header makes; checkpoints are longer and made elsewhere.
const headerRoom = 128

// Header is room for one short header: an empty slice to append to, whose bytes
// are used once. Give the result to Keep.
func (j *Journal) Header() []byte {
	if len(j.spare) < headerRoom {
		j.spare = make([]byte, spareSize)
	}
	return j.spare[:0:headerRoom]
}

// Keep takes the header that was appended to Header's room.
func (j *Journal) Keep(header []byte) []byte {
	if len(header) > headerRoom {
		return header
	}
	j.spare = j.spare[len(header):]
	return header[:len(header):len(header)]
}

// CheckInvariants panics when a count is wrong.
func (j *Journal) CheckInvariants() {
	if j.synced > j.written || j.written >= j.next || j.cut > j.next || j.unwritten < 0 || j.behind < j.unwritten && j.cut <= j.written+1 {
		panic(fmt.Sprintf("journal: cut %d synced %d written %d next %d, %d bytes unwritten of %d", j.cut, j.synced, j.written, j.next, j.unwritten, j.behind))
	}
	if len(j.sizes)-j.head != int(j.next-j.cut) {
		panic(fmt.Sprintf("journal: %d sizes for entries %d to %d", len(j.sizes)-j.head, j.cut, j.next))
	}
}
