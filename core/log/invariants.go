package log

import (
	"encoding/binary"
	"fmt"

	"github.com/orrery-log/orrery/core/journal"
)

// CheckInvariants panics when a cheap one is broken: it runs after every Step.
func (l *Log) CheckInvariants() {
	if l.start < 0 || l.start > l.end || !l.recovering && (l.synced > l.written || l.written > l.end) {
		panic(fmt.Sprintf("log: %v start %d synced %d written %d end %d", l.id, l.start, l.synced, l.written, l.end))
	}
	t := &l.tail
	if t.head > t.next || t.next > len(t.list) || t.bytes < t.unstored || t.unstored < 0 {
		panic(fmt.Sprintf("log: %v tail %d/%d/%d with %d bytes, %d unstored", l.id, t.head, t.next, len(t.list), t.bytes, t.unstored))
	}
	l.marks.invariants(l.id)
	if l.check.stored > l.end {
		panic(fmt.Sprintf("log: %v checkpoint counts to %d, the end is %d", l.id, l.check.stored, l.end))
	}
}

// CheckWellFormed panics when the log is not well formed (O7). It costs a walk
// over everything in memory.
func (l *Log) CheckWellFormed() {
	l.CheckInvariants()
	l.checkSegments()
	l.checkTail()
	l.checkEpochs()
	for id, p := range l.producers { //purity:ordered each is judged alone
		for i := 1; i < len(p.window); i++ {
			if p.window[i].last-int64(p.window[i].delta) <= p.window[i-1].last {
				panic(fmt.Sprintf("log: %v producer %d wrote %v behind %v", l.id, id, p.window[i], p.window[i-1]))
			}
		}
		if n := len(p.window); n > 0 && p.window[n-1].last >= l.end {
			panic(fmt.Sprintf("log: %v producer %d wrote at %d, the end is %d", l.id, id, p.window[n-1].last, l.end))
		}
	}
}

func (l *Log) checkSegments() {
	end, unsealed := int64(0), false
	for i := range l.segments {
		s := &l.segments[i]
		if s.from < end || s.end < s.from || s.from < s.id.Base {
			panic(fmt.Sprintf("log: segment %v from %d to %d behind %d", s.id, s.from, s.end, end))
		}
		if s.synced > s.written || s.written > s.size+s.footer || s.reads < 0 {
			panic(fmt.Sprintf("log: segment %v of %d+%d bytes, written %d, synced %d, %d reads", s.id, s.size, s.footer, s.written, s.synced, s.reads))
		}
		if unsealed && s.size > 0 && !l.recovering {
			panic(fmt.Sprintf("log: segment %v has records, the one before is not sealed", s.id))
		}
		unsealed = unsealed || s.state != sealed
		end = s.end
	}
}

func (l *Log) checkTail() {
	bytes, unstored, end := int64(0), int64(0), int64(0)
	for i := l.tail.head; i < len(l.tail.list); i++ {
		b := &l.tail.list[i]
		if b.base < end || b.end <= b.base || b.end > l.end {
			panic(fmt.Sprintf("log: %v tail batch %d..%d behind %d, the end is %d", l.id, b.base, b.end, end, l.end))
		}
		if b.bytes != nil && (b.bytes.BaseOffset() != b.base || b.bytes.End() != b.end || b.bytes.LeaderEpoch() != b.epoch) {
			panic(fmt.Sprintf("log: %v tail batch %d..%d holds %v", l.id, b.base, b.end, b.bytes))
		}
		bytes, end = bytes+int64(len(b.bytes)), b.end
		if i >= l.tail.next {
			unstored += int64(len(b.bytes))
		}
	}
	if bytes != l.tail.bytes || unstored != l.tail.unstored {
		panic(fmt.Sprintf("log: %v tail of %d bytes, %d unstored, counted as %d and %d", l.id, bytes, unstored, l.tail.bytes, l.tail.unstored))
	}
}

func (l *Log) checkEpochs() {
	for i := 1; i < len(l.epochs.list); i++ {
		if a, b := l.epochs.list[i-1], l.epochs.list[i]; b.epoch <= a.epoch || b.start <= a.start {
			panic(fmt.Sprintf("log: %v epoch %d from %d behind epoch %d from %d", l.id, b.epoch, b.start, a.epoch, a.start))
		}
	}
}

// Digest is the hard state, what records hold, as bytes: start, end, epochs and
// the producers that have not expired at wallMs. A log rebuilt from the journal
// has the same Digest as the one that lived (O6).
func (l *Log) Digest(wallMs int64) []byte {
	b := binary.AppendUvarint(nil, uint64(l.start))
	b = binary.AppendUvarint(b, uint64(l.end))
	b = journal.AppendBool(b, l.removed != 0)
	b = appendEpochs(b, l.epochs.list)
	for _, id := range l.producerIDs() {
		p := l.producers[id]
		if l.expired(&p, wallMs) {
			continue
		}
		b = appendProducer(b, id, &p)
	}
	return b
}

// Compare says in words where the hard state of two logs differs; "" when it does not.
func (l *Log) Compare(other *Log, wallMs int64) string {
	if string(l.Digest(wallMs)) == string(other.Digest(wallMs)) {
		return ""
	}
	return fmt.Sprintf("%v: %s, but %s", l.id, l.describeState(wallMs), other.describeState(wallMs))
}

func (l *Log) describeState(wallMs int64) string {
	s := fmt.Sprintf("%d..%d epochs %v", l.start, l.end, l.epochs.list)
	for _, id := range l.producerIDs() {
		if p := l.producers[id]; !l.expired(&p, wallMs) {
			s += fmt.Sprintf(" producer %d/%d %v", id, p.epoch, p.window)
		}
	}
	return s
}

// String shows the log for a reader with a seed: one line, and one for each segment.
func (l *Log) String() string {
	s := fmt.Sprintf("%x/%d start %d synced %d written %d end %d, memory from %d with %d bytes, %d unstored, needs %d",
		l.id.Topic[:4], l.id.Partition, l.start, l.synced, l.written, l.end, l.tail.base(l.end), l.tail.bytes, l.tail.unstored, l.NeedSeq())
	for i := range l.segments {
		g := &l.segments[i]
		s += fmt.Sprintf("\n  segment %d/%d %v %d..%d, %d+%d bytes, written %d synced %d, %d reads",
			g.id.Base, g.id.Gen, g.state, g.from, g.end, g.size, g.footer, g.written, g.synced, g.reads)
	}
	return s
}
