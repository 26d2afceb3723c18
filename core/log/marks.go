package log

import (
	"fmt"

	"github.com/orrery-log/orrery/core/env"
)

// marks say where in the journal records are: the record before end is in entry seq.
//
//	list:  counted | Synced | Written | given
//	       0..head   head..synced ..written ..len
//
// Counted: a synced checkpoint tells that the segments have it, so the journal
// need not keep it.
type marks struct {
	list            []mark
	head            int
	synced, written int // places in list; head <= synced <= written
}

type mark struct {
	seq env.Seq
	end int64
}

func (m *marks) push(seq env.Seq, end int64) {
	if n := len(m.list); n > m.head && (m.list[n-1].seq >= seq || m.list[n-1].end >= end) {
		panic(fmt.Sprintf("log: mark %d/%d behind %d/%d", seq, end, m.list[n-1].seq, m.list[n-1].end))
	}
	m.list = append(m.list, mark{seq, end})
}

// wrote moves Written and returns the end of the records that are; not ok: it did not move.
func (m *marks) wrote(seq env.Seq) (end int64, ok bool) {
	from := m.written
	for m.written < len(m.list) && m.list[m.written].seq <= seq {
		m.written++
	}
	if m.written == from {
		return 0, false
	}
	return m.list[m.written-1].end, true
}

// sync moves Synced and returns the end of the records that are; not ok: it did not move.
func (m *marks) sync(seq env.Seq) (end int64, ok bool) {
	from := m.synced
	for m.synced < m.written && m.list[m.synced].seq <= seq {
		m.synced++
	}
	if m.synced == from {
		return 0, false
	}
	return m.list[m.synced-1].end, true
}

// first is the entry of the first record that ends behind offset; 0: none.
func (m *marks) first(offset int64) env.Seq {
	for i := m.head; i < len(m.list); i++ {
		if m.list[i].end > offset {
			return m.list[i].seq
		}
	}
	return 0
}

// countedTo forgets the Synced marks of records before offset.
func (m *marks) countedTo(offset int64) {
	for m.head < m.synced && m.list[m.head].end <= offset {
		m.head++
	}
	switch {
	case m.head == len(m.list):
		m.head, m.synced, m.written = 0, 0, 0
		if cap(m.list) > 64 {
			m.list = nil
		} else {
			m.list = m.list[:0]
		}
	case m.head >= 32 && m.head*2 >= len(m.list):
		n := copy(m.list, m.list[m.head:])
		m.list, m.synced, m.written, m.head = m.list[:n], m.synced-m.head, m.written-m.head, 0
	}
}

// moved replaces the marks of records that were journaled again: all old ones up
// to the last of them are Synced, for they lie before in the journal.
func (m *marks) moved(again []mark) {
	if len(again) == 0 {
		return
	}
	upto := again[len(again)-1].end
	rest := m.head
	for rest < m.synced && m.list[rest].end <= upto {
		rest++
	}
	if rest < len(m.list) && m.list[rest].end <= upto {
		panic(fmt.Sprintf("log: mark %d/%d is not synced, but its copy is", m.list[rest].seq, m.list[rest].end))
	}
	n := len(again)
	m.list = append(again, m.list[rest:]...)
	m.synced, m.written, m.head = m.synced-rest+n, m.written-rest+n, 0
}

// settle takes all marks as Synced: they survived.
func (m *marks) settle() { m.synced, m.written = len(m.list), len(m.list) }
