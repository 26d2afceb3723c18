package log

import (
	"fmt"

	"github.com/orrery-log/orrery/core/env"
)

// marks say where in the journal records are: the record before end is in entry
// seq. First come, in pending, the entries that are not Synced:
//
//	pending:  gone | Written | given
//	          0..head  head..written  ..len
//
// then, in settled, those that are, while no synced checkpoint tells that the
// segments have their records. Neighbours are kept as one there, so that small
// batches cost little: what is needed then is said to begin a little early.
type marks struct {
	pending       []mark
	head, written int

	settled []mark // seq of the first entry, end of the last record
	done    int    // of settled, those before it are counted
	joined  int    // entries in the last of settled
	barrier int64  // records on both sides of it are not kept as one
}

type mark struct {
	seq env.Seq
	end int64
}

const joinedMax = 64

func (m *marks) push(seq env.Seq, end int64) {
	if n := len(m.pending); n > m.head && (m.pending[n-1].seq >= seq || m.pending[n-1].end >= end) {
		panic(fmt.Sprintf("log: mark %d/%d behind %d/%d", seq, end, m.pending[n-1].seq, m.pending[n-1].end))
	}
	m.pending = append(m.pending, mark{seq, end})
}

// wrote moves Written and returns the end of the records that are; not ok: it did not move.
func (m *marks) wrote(seq env.Seq) (end int64, ok bool) {
	for m.written < len(m.pending) && m.pending[m.written].seq <= seq {
		end, ok = m.pending[m.written].end, true
		m.written++
	}
	return end, ok
}

// sync moves Synced and returns the end of the records that are; not ok: it did not move.
func (m *marks) sync(seq env.Seq) (end int64, ok bool) {
	for m.head < m.written && m.pending[m.head].seq <= seq {
		end, ok = m.pending[m.head].end, true
		m.settle(m.pending[m.head])
		m.head++
	}
	dropFront(&m.pending, &m.head, &m.written)
	return end, ok
}

// settleAll takes all marks as Synced: they survived.
func (m *marks) settleAll() {
	for _, p := range m.pending[m.head:] {
		m.settle(p)
	}
	m.pending, m.head, m.written = nil, 0, 0
}

func (m *marks) settle(p mark) {
	n := len(m.settled)
	if n > m.done && m.joined < joinedMax && (m.settled[n-1].end > m.barrier || p.end <= m.barrier) {
		m.settled[n-1].end = p.end
		m.joined++
		return
	}
	m.settled = append(m.settled, p)
	m.joined = 1
}

// first is the entry of the first record that ends behind offset, or a little before it; 0: none.
func (m *marks) first(offset int64) env.Seq {
	for _, p := range m.settled[m.done:] {
		if p.end > offset {
			return p.seq
		}
	}
	for _, p := range m.pending[m.head:] {
		if p.end > offset {
			return p.seq
		}
	}
	return 0
}

// countedTo forgets the Synced marks of records before offset.
func (m *marks) countedTo(offset int64) {
	for m.done < len(m.settled) && m.settled[m.done].end <= offset {
		m.done++
	}
	dropFront(&m.settled, &m.done, nil)
}

// moved replaces the marks of records that were journaled again: all old ones up
// to the last of them are Synced, for they lie before in the journal. The barrier
// stood there since, so none of them is kept as one with later records.
func (m *marks) moved(again []mark) {
	if len(again) == 0 {
		return
	}
	upto := again[len(again)-1].end
	m.countedTo(upto)
	if m.head < len(m.pending) && m.pending[m.head].end <= upto {
		panic(fmt.Sprintf("log: mark %d/%d is not synced, but its copy is", m.pending[m.head].seq, m.pending[m.head].end))
	}
	if len(m.settled) == m.done {
		m.joined = joinedMax // the copies are not joined with what comes
	}
	m.settled, m.done = append(again, m.settled[m.done:]...), 0
}

// dropFront gives the room of the first *head marks back, once it is worth it;
// other, when not nil, is a place in the list too.
func dropFront(list *[]mark, head, other *int) {
	switch {
	case *head == len(*list):
		if other != nil {
			*other -= *head
		}
		*head = 0
		if cap(*list) > 64 { // an idle log keeps no room
			*list = nil
		} else {
			*list = (*list)[:0]
		}
	case *head >= 32 && *head*2 >= len(*list):
		n := copy(*list, (*list)[*head:])
		*list = (*list)[:n]
		if other != nil {
			*other -= *head
		}
		*head = 0
	}
}

func (m *marks) invariants(id env.LogID) {
	if m.head > m.written || m.written > len(m.pending) || m.done > len(m.settled) {
		panic(fmt.Sprintf("log: %v marks %d/%d of %d, %d of %d settled", id, m.head, m.written, len(m.pending), m.done, len(m.settled)))
	}
}
