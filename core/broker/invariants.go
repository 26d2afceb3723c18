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
	if tails != b.tails || reading != b.reading {
		panic(fmt.Sprintf("broker: counts %d bytes of tails and %d of reads, there are %d and %d", b.tails, b.reading, tails, reading))
	}
	if len(b.touched) != 0 || len(b.moved) != 0 {
		panic("broker: a Step ended with work left")
	}
	if b.phase == serving && b.admin.flight == nil && len(b.admin.queue) > 0 && b.metaIdle() {
		panic("broker: a decision waits for nothing")
	}
}
