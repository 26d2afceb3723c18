package log

import (
	"encoding/binary"
	"slices"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/journal"
)

// damage is what of the log is known to be lost. The rest is served.
type damage struct {
	spans []span // by offset, apart from each other
	// unsure: entries are lost that may have moved the end or the producers, so
	// that an append might repeat an offset or a sequence.
	unsure bool
}

// span is a range of lost records. Once an operator has accepted the loss,
// readers step over it, as over compacted records.
type span struct {
	from, to int64
	accepted bool
}

// add notes a lost range. What of it is known already stays as it is: it may be accepted.
func (d *damage) add(from, to int64) {
	for from < to {
		free := to // the end of what is new at from
		for _, s := range d.spans {
			if s.from <= from && from < s.to {
				from = s.to
			} else if from < s.from {
				free = min(free, s.from)
			}
		}
		if from < free {
			d.insert(from, free)
			from = free
		}
	}
}

// insert puts in a range that overlaps no other, joined to the one before when it continues it.
func (d *damage) insert(from, to int64) {
	i := len(d.spans)
	for i > 0 && d.spans[i-1].from > from {
		i--
	}
	if i > 0 && !d.spans[i-1].accepted && d.spans[i-1].to == from {
		d.spans[i-1].to = to
		return
	}
	d.spans = slices.Insert(d.spans, i, span{from: from, to: to})
}

// repair takes the range of one batch out of the spans: a sound copy was found.
func (d *damage) repair(from, to int64) {
	for i := range d.spans {
		s := d.spans[i]
		if s.from > from || s.to < to {
			continue
		}
		rest := make([]span, 0, 2)
		if s.from < from {
			rest = append(rest, span{s.from, from, s.accepted})
		}
		if to < s.to {
			rest = append(rest, span{to, s.to, s.accepted})
		}
		d.spans = slices.Replace(d.spans, i, i+1, rest...)
		return
	}
}

// pass steps over accepted losses from offset on; lost: what is there then is lost.
func (d *damage) pass(offset int64) (next int64, lost bool) {
	for _, s := range d.spans {
		if s.from <= offset && offset < s.to {
			if !s.accepted {
				return offset, true
			}
			offset = s.to
		}
	}
	return offset, false
}

// holds tells whether the whole range is lost.
func (d *damage) holds(from, to int64) bool {
	for _, s := range d.spans {
		if s.from <= from && from < s.to {
			return to <= s.to
		}
	}
	return false
}

func (d *damage) startAt(start int64) {
	for len(d.spans) > 0 && d.spans[0].to <= start {
		d.spans = slices.Delete(d.spans, 0, 1)
	}
}

func (d *damage) accept() {
	d.unsure = false
	for i := range d.spans {
		d.spans[i].accepted = true
	}
}

func (d *damage) appendTo(b []byte) []byte {
	b = journal.AppendBool(b, d.unsure)
	b = binary.AppendUvarint(b, uint64(len(d.spans)))
	for _, s := range d.spans {
		b = binary.AppendUvarint(b, uint64(s.from))
		b = binary.AppendUvarint(b, uint64(s.to-s.from))
		b = journal.AppendBool(b, s.accepted)
	}
	return b
}

func (d *damage) read(r *journal.Reader) {
	d.unsure = r.Bool()
	end := int64(0)
	for range r.Count(3) {
		s := span{from: r.Natural()}
		s.to, s.accepted = s.from+r.Natural(), r.Bool()
		if s.from < end || s.to <= s.from {
			r.Fail()
			return
		}
		end = s.to
		d.spans = append(d.spans, s)
	}
}

// RefusesAppends is KAFKA_STORAGE_ERROR while lost entries may have moved the
// log's end or its producers, else 0.
func (l *Log) RefusesAppends() int16 {
	if l.damage.unsure {
		return kafkaStorageError
	}
	return 0
}

// Loss is a range of offsets whose records are lost.
type Loss struct {
	From, To int64
	Accepted bool
}

// Losses lists what is known to be lost.
func (l *Log) Losses() []Loss {
	var list []Loss
	for _, s := range l.damage.spans {
		list = append(list, Loss{s.from, s.to, s.accepted})
	}
	return list
}

// Sound tells whether nothing is lost that nobody has accepted.
func (l *Log) Sound() bool {
	if l.damage.unsure {
		return false
	}
	for _, s := range l.damage.spans {
		if !s.accepted {
			return false
		}
	}
	return true
}

// Accept ends the damage: an operator has accepted the loss. What turns out in
// this life to be unreadable in a file is accepted too, and noted in the next
// checkpoint; in another life it would be damage that nobody knew of. 0: nothing
// is known to be lost now.
func (l *Log) Accept(j *journal.Journal, out *env.Outbox) env.Seq {
	l.forgiving = true
	if l.Sound() {
		return 0
	}
	l.damage.accept()
	seq := l.journal(j, out, env.Entry{Sync: true, Header: j.Keep(journal.AppendKind(j.Header(), journal.KindAccept))})
	l.unsaid = true
	l.Checkpoint(j, out) // the next start finds the same gaps again, and here that they are accepted
	return seq
}
