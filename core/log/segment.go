package log

import (
	"fmt"
	"sort"

	"github.com/orrery-log/orrery/core/env"
)

// storePieceMax bounds the bytes of one Store, about: whole batches.
const storePieceMax = 1 << 20

// segment is one segment file as the log sees it.
type segment struct {
	id   env.SegmentID
	from int64 // the first offset it holds or will hold; at least id.Base
	end  int64 // behind the last record in a Store; from when there is none
	size int64 // bytes of batches in Stores

	written, synced int64 // bytes of the file, by Stored; synced <= written <= size+footer

	state  segmentState
	footer int64 // bytes of the footer once a Seal is in a Store

	firstTime int64 // largest timestamp of its first batch: SegmentAge counts from it; -1: none
	maxTime   int64 // the largest timestamp; -1: none
	maxTimeAt int64 // offset of the first record that has it
	wall      int64 // ms, when its last batch was appended; -1: empty

	runEnd int64 // a run ends at this byte, if any does: a checkpoint counts to there
	index  []run // until the footer is Synced: then a checkpoint need not repeat it, and it is read from there
	reads  int32 // Reads outstanding

	givenUp env.Seq // dying: the entry that gives it up
	found   int64   // bytes of the file at the start; -1: there was none
}

// segmentState: opening -> open -> sealed, never back. After a crash a segment
// begins as trimming instead of opening.
type segmentState uint8

const (
	opening  segmentState = iota // its entry is not Synced: no Store yet
	trimming                     // recovery: its Trim is not confirmed: no Store yet
	open                         // takes Stores
	sealed                       // its Seal is in a Store; the file is immutable from there on
)

func (s segmentState) String() string {
	switch s {
	case opening:
		return "opening"
	case trimming:
		return "trimming"
	case open:
		return "open"
	case sealed:
		return "sealed"
	default:
		return fmt.Sprintf("state %d", uint8(s))
	}
}

// run is one entry of the sparse index: whole batches, about IndexEvery bytes.
type run struct {
	base      int64 // offset of its first record
	at        int64 // its first byte
	maxTime   int64 // the largest timestamp in it; -1: none
	maxTimeAt int64
	sum       uint32 // CRC-32C of its bytes
}

// whole tells whether its file is complete on the medium: only then a checkpoint calls it sealed.
func (s *segment) whole() bool { return s.state == sealed && s.synced >= s.size+s.footer }

// quiet tells whether no Store, Trim or Read of it is outstanding.
func (s *segment) quiet() bool {
	return s.reads == 0 && s.state != trimming && s.written >= s.size+s.footer
}

// segmentOf is the place of the segment that holds offset or, when none does, of
// the first one behind it.
func (l *Log) segmentOf(offset int64) int {
	return sort.Search(len(l.segments), func(i int) bool { return l.segments[i].end > offset })
}

// segmentByID finds a segment, given up ones included.
func (l *Log) segmentByID(id env.SegmentID) *segment {
	for i := len(l.segments) - 1; i >= 0; i-- {
		if l.segments[i].id == id {
			return &l.segments[i]
		}
	}
	for i := range l.dying {
		if l.dying[i].id == id {
			return &l.dying[i]
		}
	}
	return nil
}
