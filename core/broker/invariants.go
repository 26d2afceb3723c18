package broker

import "fmt"

// CheckInvariants panics when something that must hold between two Steps does
// not. It looks at everything: the simulator and tests call it.
func (b *Broker) CheckInvariants() {
	b.journal.CheckInvariants()
	tails := int64(0)
	for slot := range b.parts {
		p := &b.parts[slot]
		if p.rep.Log == nil {
			continue
		}
		p.rep.CheckInvariants()
		tails += p.rep.Log.TailBytes()
		if at, ok := b.slots[p.id]; p.live && (!ok || at != int32(slot)) {
			panic(fmt.Sprintf("broker: %v is at slot %d and %d", p.id, slot, at))
		}
	}
	reading := int64(0)
	for _, r := range b.reads { //purity:ordered a sum
		reading += int64(r.plan.MaxBytes)
	}
	for _, j := range b.jobs { //purity:ordered a sum
		reading += j.held
	}
	if tails != b.tails || reading != b.reading {
		panic(fmt.Sprintf("broker: counts %d bytes of tails and %d of reads, there are %d and %d", b.tails, b.reading, tails, reading))
	}
	for i := range b.crowd {
		if !b.crowded(b.crowd[i].conn) {
			panic(fmt.Sprintf("broker: request %d of connection %d waits for nothing", b.crowd[i].n, b.crowd[i].conn))
		}
	}
	b.checkCounts()
	if len(b.touched) != 0 || len(b.moved) != 0 {
		panic("broker: a Step ended with work left")
	}
	if b.phase == serving && b.admin.flight == nil && len(b.admin.queue) > 0 && b.metaIdle() {
		panic("broker: a decision waits for nothing")
	}
}

// checkCounts panics when a count of bytes is not the sum of what it counts.
func (b *Broker) checkCounts() {
	unsent, stalled, parts, parked := int64(0), int64(0), 0, 0
	for _, c := range b.conns { //purity:ordered a sum
		for at := c.parked; at != 0; at = b.pending.slots[at-1].behind {
			parked++
		}
		for _, u := range c.unsent {
			unsent += u.size
		}
	}
	for slot := range b.parts {
		for i := range b.parts[slot].queue {
			stalled += int64(len(b.parts[slot].queue[i].batch.data))
		}
	}
	for _, q := range b.sessions.byID { //purity:ordered a sum
		parts += len(q.parts)
	}
	if parked != b.pending.count {
		panic(fmt.Sprintf("broker: %d requests are parked, connections have %d", b.pending.count, parked))
	}
	if unsent != b.unsent || stalled != b.stalled || parts != b.sessions.parts {
		panic(fmt.Sprintf("broker: counts %d bytes unsent, %d stalled and %d partitions of sessions; there are %d, %d and %d",
			b.unsent, b.stalled, b.sessions.parts, unsent, stalled, parts))
	}
}
