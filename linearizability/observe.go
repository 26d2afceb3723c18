package linearizability

import (
	"fmt"
	"slices"
)

// observed is one stretch of a partition's log as its clients know it.
type observed struct {
	*stretch
	expires  bool
	offsets  []int64        // every offset of which anything is known, ascending
	slots    []slot         // slots[i] is what is known of offsets[i]
	dense    int64          // when > 0: offsets are dense[0..]; see index
	sparse   map[int64]int  // offset -> index, when the offsets lie far apart
	seen     []int          // seen[i]: how many of slots[:i] were read by someone
	ids      map[uint64]int // record -> index in sent
	sent     []sending      // every record that was sent
	removed  []removal      // DeleteRecords by the event from which on they may show
	told     int64          // the largest log start told, -1: none
	starts   []*Operation   // polls that were told a start
	polls    []*Operation   // polls that brought something, by Invoke
	latests  []*Operation   // reads of the end, by Invoke
	produces []*Operation   // all, by Invoke
	covered  [][2]int64     // [from, end) that some poll has passed over, merged, ascending
}

// slot is what is known of one offset.
type slot struct {
	id  uint64
	sum uint64
	by  *Operation // the first poll that read it, nil: none did
	ack *Operation // the produce that was told this offset with acks=all, nil: none was
}

// sending is a record with all the times it was sent.
type sending struct {
	id       uint64
	sum      uint64
	first    *Operation // the earliest produce that holds it
	at       int        // its place in that produce's batch
	refused  *Operation // a produce that failed
	allowed  int        // how often it may stand in the log; see unbounded
	found    int        // at how many offsets it stands
	foundAt  int64      // the first of them
	foundBy  *Operation // and who says so
	produces int        // in how many produces it is
}

// unbounded is an allowance that nothing exceeds.
const unbounded = 1 << 30

// removal: from event on, offsets before start may be gone.
type removal struct{ event, start int64 }

// observe builds the log from what producers were told and consumers read, and
// reports where two of them contradict each other.
func (p *stretch) observe(c *findings) *observed {
	log := &observed{stretch: p, expires: c.opt.expires(p.topic), told: -1}
	log.sort(c)
	log.layOut()
	for _, o := range log.produces {
		if acknowledged(o) {
			for i, r := range o.Sent {
				log.note(c, o.Result.Base+int64(i), Record{ID: r.ID, Sum: r.Sum}, o)
			}
			c.verdict.Acknowledged += len(o.Sent)
		}
	}
	for _, o := range log.polls {
		for _, r := range o.Result.Records {
			log.note(c, r.Offset, r, o)
		}
		c.verdict.Read += len(o.Result.Records)
	}
	log.seen = make([]int, len(log.slots)+1)
	for i := range log.slots {
		log.seen[i+1] = log.seen[i]
		if log.slots[i].by != nil {
			log.seen[i+1]++
		}
	}
	c.verdict.Ends += len(log.latests)
	return log
}

// acknowledged says that the promises of acks=all hold for the produce.
func acknowledged(o *Operation) bool {
	return o.Op == Produce && o.Outcome == OK && o.Acks == AcksAll && o.Result.Base >= 0
}

// sort puts each operation where the passes look for it, and gathers the sent records.
func (log *observed) sort(c *findings) {
	log.ids = make(map[uint64]int)
	for _, o := range log.ops {
		switch o.Op {
		case Produce:
			log.produces = append(log.produces, o)
			log.gather(o)
		case Poll:
			if o.Outcome != OK {
				continue
			}
			if o.Result.Start >= 0 {
				log.starts = append(log.starts, o)
				log.told = max(log.told, o.Result.Start)
			}
			if len(o.Result.Records) > 0 {
				log.polls = append(log.polls, o)
			}
		case Latest:
			if o.Outcome == OK && o.Result.End >= 0 {
				log.latests = append(log.latests, o)
			}
		case Delete:
			if o.Outcome == Fail {
				continue
			}
			start := o.Offset
			if start < 0 { // up to the watermark, whatever it was
				start = o.Result.Start
			}
			if start < 0 {
				start = int64(1) << 62
			}
			if n := len(log.removed); n > 0 {
				start = max(start, log.removed[n-1].start)
			}
			log.removed = append(log.removed, removal{o.Invoke, start})
		case Assign:
		default:
			panic(fmt.Sprintf("linearizability: unknown operation %d in event %d", o.Op, o.Invoke))
		}
	}
}

// gather adds a produce's records to what was sent.
func (log *observed) gather(o *Operation) {
	allowed := 1
	switch {
	case o.Outcome == Fail:
		allowed = 0
	case o.Idempotent:
	case o.Result.Attempts < 0:
		allowed = unbounded
	case o.Result.Attempts > 1:
		allowed = o.Result.Attempts
	}
	for i, r := range o.Sent {
		n, ok := log.ids[r.ID]
		if !ok {
			n = len(log.sent)
			log.ids[r.ID] = n
			log.sent = append(log.sent, sending{id: r.ID, sum: r.Sum, first: o, at: i})
		}
		s := &log.sent[n]
		s.produces++
		s.allowed = min(s.allowed+allowed, unbounded)
		if o.Outcome == Fail {
			s.refused = o
		} else if s.first.Outcome == Fail {
			s.first, s.at = o, i
		}
	}
}

// layOut makes a slot for each offset that anyone mentions.
func (log *observed) layOut() {
	least, most, count := int64(1)<<62, int64(-1), int64(0)
	mention := func(offset int64) {
		least, most = min(least, offset), max(most, offset)
		count++
	}
	log.mentioned(mention)
	if count == 0 {
		return
	}
	if most-least < 4*count+1024 {
		log.dense = least + 1
		log.offsets = make([]int64, most-least+1)
		for i := range log.offsets {
			log.offsets[i] = least + int64(i)
		}
	} else {
		log.offsets = make([]int64, 0, count)
		log.mentioned(func(offset int64) { log.offsets = append(log.offsets, offset) })
		slices.Sort(log.offsets)
		log.offsets = slices.Compact(log.offsets)
		log.sparse = make(map[int64]int, len(log.offsets))
		for i, offset := range log.offsets {
			log.sparse[offset] = i
		}
	}
	log.slots = make([]slot, len(log.offsets))
}

func (log *observed) mentioned(mention func(offset int64)) {
	for _, o := range log.produces {
		if acknowledged(o) {
			for i := range o.Sent {
				mention(o.Result.Base + int64(i))
			}
		}
	}
	for _, o := range log.polls {
		for _, r := range o.Result.Records {
			mention(r.Offset)
		}
	}
}

// at is the slot of an offset, nil when nobody mentions it.
func (log *observed) at(offset int64) *slot {
	if i := log.index(offset); i < len(log.offsets) && log.offsets[i] == offset {
		return &log.slots[i]
	}
	return nil
}

// index is the place in offsets of the first one that is not below offset.
func (log *observed) index(offset int64) int {
	if log.dense > 0 {
		return int(min(max(offset-(log.dense-1), 0), int64(len(log.offsets))))
	}
	if i, ok := log.sparse[offset]; ok {
		return i
	}
	i, _ := slices.BinarySearch(log.offsets, offset)
	return i
}

// note writes down that o says what stands at offset. The first one to speak is
// believed; who contradicts it is reported.
func (log *observed) note(c *findings, offset int64, r Record, o *Operation) {
	s := log.at(offset)
	if s.by == nil && s.ack == nil {
		s.id, s.sum = r.ID, r.Sum
	} else if s.id != r.ID {
		log.contradicts(c, offset, s, r, o)
		return
	} else if s.sum != r.Sum && s.sum != 0 && r.Sum != 0 {
		c.found(log.stretch, Anomaly{Kind: Corrupt, Offset: offset, Record: r.ID,
			Text: fmt.Sprintf("Record %d has the checksum %x for one client and %x for another.", r.ID, s.sum, r.Sum)}, s.ack, s.by, o)
		return
	}
	if s.sum == 0 {
		s.sum = r.Sum
	}
	switch {
	case o.Op == Produce:
		s.ack = o
	case s.by == nil:
		s.by = o
	}
}

func (log *observed) contradicts(c *findings, offset int64, s *slot, r Record, o *Operation) {
	a := Anomaly{Kind: InconsistentOffsets, Offset: offset, Record: s.id}
	if c.wants(a.Kind) {
		a.Text = fmt.Sprintf("%s says that record %d stands here, %s says %d.", speaker(s, o), s.id, speakerOf(o), r.ID)
	}
	c.found(log.stretch, a, s.ack, s.by, o)
}

func speaker(s *slot, other *Operation) string {
	if s.ack != nil {
		return speakerOf(s.ack)
	}
	if other.Op == Poll {
		return "one read"
	}
	return "a read"
}

func speakerOf(o *Operation) string {
	if o.Op == Produce {
		return fmt.Sprintf("the acknowledgement to process %d", o.Process)
	}
	return fmt.Sprintf("the read of process %d", o.Process)
}

// startAt is the log start that is legal at an event.
func (log *observed) startAt(event int64) int64 {
	start := int64(0)
	i, _ := slices.BinarySearchFunc(log.removed, event, func(r removal, e int64) int {
		if r.event < e {
			return -1
		}
		return 1
	})
	if i > 0 {
		start = log.removed[i-1].start
	}
	if log.expires {
		start = max(start, log.told)
	}
	return start
}

// startEver is the highest log start that is legal at any time.
func (log *observed) startEver() int64 { return log.startAt(int64(1) << 62) }
