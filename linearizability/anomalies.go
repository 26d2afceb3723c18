package linearizability

import (
	"cmp"
	"fmt"
	"slices"
)

// checkRecords looks at each offset: was what stands there sent, in time, as
// often, as a whole, and unchanged?
func (log *observed) checkRecords(c *findings) {
	for i := range log.slots {
		s := &log.slots[i]
		if s.id == 0 || s.by == nil && s.ack == nil {
			continue
		}
		offset := log.offsets[i]
		n, ok := log.ids[s.id]
		if !ok {
			c.found(log.stretch, Anomaly{Kind: Phantom, Offset: offset, Record: s.id,
				Text: fmt.Sprintf("Record %d was read, but nobody sent it to this partition.", s.id)}, s.by)
			continue
		}
		log.checkRecord(c, offset, s, &log.sent[n])
	}
}

func (log *observed) checkRecord(c *findings, offset int64, s *slot, sent *sending) {
	if s.by != nil && s.by.Return < sent.first.Invoke {
		c.found(log.stretch, Anomaly{Kind: Phantom, Offset: offset, Record: s.id,
			Text: fmt.Sprintf("Record %d was read before it was sent.", s.id)}, s.by, sent.first)
	}
	if s.sum != sent.sum && s.sum != 0 && sent.sum != 0 {
		c.found(log.stretch, Anomaly{Kind: Corrupt, Offset: offset, Record: s.id,
			Text: fmt.Sprintf("Record %d was sent with the checksum %x and read with %x.", s.id, sent.sum, s.sum)}, sent.first, s.by)
	}
	if sent.found++; sent.found == 1 {
		sent.foundAt, sent.foundBy = offset, cmp.Or(s.by, s.ack)
	}
	if sent.found > sent.allowed {
		log.tooOften(c, offset, s, sent)
	}
	if s.ack == nil {
		log.checkWhole(c, offset, s, sent)
	}
}

func (log *observed) tooOften(c *findings, offset int64, s *slot, sent *sending) {
	if sent.allowed == 0 {
		c.found(log.stretch, Anomaly{Kind: AbortedRead, Offset: offset, Record: s.id,
			Text: fmt.Sprintf("Record %d was refused, and yet it is in the log.", s.id)}, sent.refused, s.by)
		return
	}
	a := Anomaly{Kind: Duplicate, Offset: offset, Record: s.id}
	if c.wants(a.Kind) {
		a.Text = fmt.Sprintf("Record %d stands at offset %d and again at %d; it may stand there %d time(s).", s.id, sent.foundAt, offset, sent.allowed)
	}
	c.found(log.stretch, a, sent.first, sent.foundBy, cmp.Or(s.by, s.ack))
}

// checkWhole: a record whose produce was not acknowledged stands here, so its
// neighbours in the batch must stand beside it.
func (log *observed) checkWhole(c *findings, offset int64, s *slot, sent *sending) {
	if sent.produces > 1 {
		return // sent again in another batch: which of them this is cannot be told
	}
	batch := sent.first.Sent
	for _, d := range [2]int{-1, 1} {
		k := sent.at + d
		if k < 0 || k >= len(batch) {
			continue
		}
		beside := log.at(offset + int64(d))
		if beside == nil || beside.by == nil || beside.id == batch[k].ID {
			continue
		}
		c.found(log.stretch, Anomaly{Kind: TornBatch, Offset: offset, Record: s.id,
			Text: fmt.Sprintf("Record %d was sent in one batch with %d, but beside it stands %d.", s.id, batch[k].ID, beside.id)}, sent.first, s.by, beside.by)
	}
}

// checkLost asks for each acknowledged record whether anyone saw it, and if not,
// whether someone should have.
func (log *observed) checkLost(c *findings) {
	log.cover()
	start, unread := log.startEver(), 0
	var first, last int64
	for i := range log.slots {
		s, offset := &log.slots[i], log.offsets[i]
		if s.ack == nil || s.by != nil || offset < start {
			continue
		}
		switch {
		case log.passed(offset):
			a := Anomaly{Kind: LostWrite, Offset: offset, Record: s.id}
			var witness *Operation
			if c.wants(a.Kind) {
				witness = log.witness(offset)
				a.Text = fmt.Sprintf("Record %d was acknowledged here, but a read passed over this offset without it, and no read ever found it here%s.", s.id, log.elsewhere(s.id, offset))
			}
			c.found(log.stretch, a, s.ack, witness)
		case log.final:
			c.found(log.stretch, Anomaly{Kind: Unseen, Offset: offset, Record: s.id,
				Text: fmt.Sprintf("Record %d was acknowledged here, and the final read of the partition ended before it.", s.id)}, s.ack, log.furthest())
		case log.last:
			if unread == 0 {
				first = offset
			}
			last = offset
			unread++
		}
	}
	if unread > 0 {
		c.doubt("%s/%d: %d acknowledged record(s), at offsets %d to %d, were never read, so nobody knows whether they are there; end the history with a read of the partition to its end and the note final",
			log.topic, log.partition, unread, first, last)
	}
}

// cover merges what polls have passed over: from the position asked for (or the
// first record) through the last record.
func (log *observed) cover() {
	spans := make([][2]int64, 0, len(log.polls))
	for _, o := range log.polls {
		spans = append(spans, span(o))
	}
	slices.SortFunc(spans, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	for _, s := range spans {
		if n := len(log.covered); n > 0 && s[0] <= log.covered[n-1][1] {
			log.covered[n-1][1] = max(log.covered[n-1][1], s[1])
		} else {
			log.covered = append(log.covered, s)
		}
	}
}

// span is what a poll has passed over, [from, end).
func span(o *Operation) [2]int64 {
	rs := o.Result.Records
	from, end := rs[0].Offset, rs[len(rs)-1].Offset+1
	if o.Offset >= 0 {
		from = min(from, o.Offset)
	}
	return [2]int64{from, end}
}

func (log *observed) passed(offset int64) bool {
	i, _ := slices.BinarySearchFunc(log.covered, offset, func(s [2]int64, o int64) int {
		if s[1] <= o {
			return -1
		}
		return 1
	})
	return i < len(log.covered) && log.covered[i][0] <= offset
}

// witness is a poll that passed over the offset.
func (log *observed) witness(offset int64) *Operation {
	for _, o := range log.polls {
		if s := span(o); s[0] <= offset && offset < s[1] {
			return o
		}
	}
	return nil
}

// elsewhere looks for the record at another offset; it is asked for examples only.
func (log *observed) elsewhere(id uint64, offset int64) string {
	for i := range log.slots {
		if s := &log.slots[i]; s.by != nil && s.id == id && log.offsets[i] != offset {
			return fmt.Sprintf(" (it also stands at offset %d)", log.offsets[i])
		}
	}
	return ""
}

// furthest is the poll that read the highest offset.
func (log *observed) furthest() *Operation {
	var far *Operation
	for _, o := range log.polls {
		if far == nil || span(o)[1] > span(far)[1] {
			far = o
		}
	}
	return far
}

// checkPolls follows each consumer: its offsets only grow, and it is led past nothing.
func (log *observed) checkPolls(c *findings) {
	type consumer struct {
		next int64 // the offset after the last one it was given, -1: anywhere
		by   *Operation
	}
	consumers := make(map[int64]consumer)
	for _, o := range log.ops {
		switch {
		case o.Op == Assign:
			delete(consumers, o.Process)
		case o.Op == Poll && o.Outcome == OK && len(o.Result.Records) > 0:
			before, known := consumers[o.Process]
			from := o.Offset
			switch {
			case from >= 0:
				before.by = nil
			case known && before.by.Return < o.Invoke:
				from = before.next
			default:
				before.by = nil
			}
			log.checkPoll(c, o, from, before.by)
			rs := o.Result.Records
			consumers[o.Process] = consumer{rs[len(rs)-1].Offset + 1, o}
		}
	}
}

// checkPoll judges one answer. from is where it had to go on, -1: anywhere.
func (log *observed) checkPoll(c *findings, o *Operation, from int64, before *Operation) {
	rs := o.Result.Records
	at := from
	for i, r := range rs {
		if r.Offset < at {
			a := Anomaly{Kind: NonmonotonicPoll, Offset: r.Offset, Record: r.ID}
			if c.wants(a.Kind) {
				a.Text = fmt.Sprintf("Process %d had to go on from offset %d and was given %d (record %d of %d in the answer).", o.Process, at, r.Offset, i+1, len(rs))
			}
			c.found(log.stretch, a, before, o)
			return
		}
		at = r.Offset + 1
	}
	if from < 0 {
		from = rs[0].Offset
	}
	from = max(from, log.startAt(o.Return))
	if given := countFrom(rs, from); log.seenBetween(from, at) > given {
		log.skipped(c, o, from, before)
	}
}

// countFrom counts the records at or above an offset; records are ascending.
func countFrom(rs []Record, from int64) int {
	i, _ := slices.BinarySearchFunc(rs, from, func(r Record, f int64) int { return cmp.Compare(r.Offset, f) })
	return len(rs) - i
}

// seenBetween counts the offsets in [from, end) that someone read.
func (log *observed) seenBetween(from, end int64) int {
	if end <= from {
		return 0
	}
	return log.seen[log.index(end)] - log.seen[log.index(from)]
}

// skipped reports the first offset that the answer leaves out and others read.
func (log *observed) skipped(c *findings, o *Operation, from int64, before *Operation) {
	a := Anomaly{Kind: PollSkip, Offset: from}
	var reader *Operation
	if c.wants(a.Kind) {
		rs := o.Result.Records
		at := len(rs) - countFrom(rs, from)
		for i := log.index(from); i < len(log.slots) && at < len(rs); i++ {
			if log.offsets[i] == rs[at].Offset {
				at++
				continue
			}
			if s := &log.slots[i]; s.by != nil {
				a.Offset, a.Record, reader = log.offsets[i], s.id, s.by
				a.Text = fmt.Sprintf("Process %d was given offset %d and those around it without record %d at offset %d, which process %d read.",
					o.Process, rs[at].Offset, s.id, a.Offset, reader.Process)
				break
			}
		}
	}
	c.found(log.stretch, a, before, o, reader)
}

// checkSends: the acknowledged batches of one producer stand in the order in
// which it sent them: of an idempotent one always, of another one when it had
// only one in flight.
func (log *observed) checkSends(c *findings) {
	type producer struct {
		highest *Operation   // of those that returned before, the one at the highest offset
		flying  []*Operation // began, and returned after the last one looked at began
	}
	producers := make(map[int64]*producer)
	for _, o := range log.produces {
		if !acknowledged(o) {
			continue
		}
		p := producers[o.Process]
		if p == nil {
			p = &producer{}
			producers[o.Process] = p
		}
		flying := p.flying[:0]
		for _, f := range p.flying {
			if f.Return > o.Invoke && !f.Idempotent {
				flying = append(flying, f)
			} else if p.highest == nil || f.Result.Base > p.highest.Result.Base {
				p.highest = f
			}
		}
		p.flying = append(flying, o)
		if h := p.highest; h != nil && o.Result.Base <= h.Result.Base {
			a := Anomaly{Kind: NonmonotonicSend, Offset: o.Result.Base, Record: o.Sent[0].ID}
			if c.wants(a.Kind) {
				a.Text = fmt.Sprintf("Process %d sent record %d after record %d, but it was put at offset %d, before %d.", o.Process, o.Sent[0].ID, h.Sent[0].ID, o.Result.Base, h.Result.Base)
			}
			c.found(log.stretch, a, h, o)
		}
	}
}

// checkStarts: without retention only DeleteRecords moves the start of a log.
func (log *observed) checkStarts(c *findings) {
	if log.expires {
		return
	}
	for _, o := range log.starts {
		if legal := log.startAt(o.Return); o.Result.Start > legal {
			c.found(log.stretch, Anomaly{Kind: StartMoved, Offset: o.Result.Start,
				Text: fmt.Sprintf("The log is said to start at %d, but nothing has removed what is at or after %d.", o.Result.Start, legal)}, o)
		}
	}
}
