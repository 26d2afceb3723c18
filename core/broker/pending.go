package broker

import (
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/replica"
)

// pending is one parked request. Exactly one of the family pointers is set.
type pending struct {
	live     bool
	gen      uint32
	conn     env.ConnID
	n        uint64
	deadline env.Time // Mono; 0: none
	alarmed  bool     // its deadline stands in b.timers
	touched  bool     // it stands in b.touched and is looked at before the Step ends
	starved  bool     // it stands in b.starved and is looked at when there is room

	// The connection's other requests, as slot+1; 0: none. So a connection that
	// ends costs what it asked, and not a walk over everybody's requests.
	before, behind int32

	produce *produce
	fetch   *fetch
	list    *list
	purge   *purge
}

// slab holds the parked requests. A ticket is slot and generation, so that a
// ticket of a request that has ended finds nothing.
type slab struct {
	slots []pending
	free  []int32
	count int
}

func (s *slab) park(p pending) replica.Ticket {
	var slot int32
	if n := len(s.free); n > 0 {
		slot, s.free = s.free[n-1], s.free[:n-1]
	} else {
		slot = int32(len(s.slots))
		s.slots = append(s.slots, pending{})
	}
	p.live, p.gen = true, s.slots[slot].gen+1
	s.slots[slot] = p
	s.count++
	return replica.Ticket(uint64(slot)<<32 | uint64(p.gen))
}

// get finds a parked request; nil when it has ended. The pointer holds until the
// next park.
func (s *slab) get(t replica.Ticket) *pending {
	slot := int32(t >> 32)
	if int(slot) >= len(s.slots) || !s.slots[slot].live || s.slots[slot].gen != uint32(t) {
		return nil
	}
	return &s.slots[slot]
}

// park keeps a request of a connection until it is settled.
func (b *Broker) park(p pending) replica.Ticket {
	c := b.conns[p.conn]
	p.behind = c.parked
	t := b.pending.park(p)
	slot := int32(t >> 32)
	if c.parked != 0 {
		b.pending.slots[c.parked-1].before = slot + 1
	}
	c.parked = slot + 1
	return t
}

// end forgets a parked request.
func (b *Broker) end(t replica.Ticket) {
	p := b.pending.get(t)
	if p.before != 0 {
		b.pending.slots[p.before-1].behind = p.behind
	} else if c := b.conns[p.conn]; c != nil {
		c.parked = p.behind
	}
	if p.behind != 0 {
		b.pending.slots[p.behind-1].before = p.before
	}
	if p.alarmed {
		b.timers.Cancelled()
		if b.timers.Crowded() {
			b.timers.Sweep(func(t replica.Ticket) bool { return b.pending.get(t) != nil })
		}
	}
	b.pending.end(t)
}

func (s *slab) end(t replica.Ticket) {
	slot := int32(t >> 32)
	s.slots[slot] = pending{gen: s.slots[slot].gen}
	s.free = append(s.free, slot)
	s.count--
}

// touch marks a parked request for a look before the Step ends.
func (b *Broker) touch(t replica.Ticket) {
	if p := b.pending.get(t); p != nil && !p.touched {
		p.touched = true
		b.touched = append(b.touched, t)
	}
}

// settle is the only place where parked requests end.
func (b *Broker) settle(out *env.Outbox) {
	for i := 0; i < len(b.touched); i++ { // settling one may touch others
		t := b.touched[i]
		p := b.pending.get(t)
		if p == nil {
			continue
		}
		p.touched = false
		switch {
		case p.produce != nil:
			b.produceSettled(t, p, out)
		case p.fetch != nil:
			b.fetchSettled(t, p, out)
		case p.list != nil:
			b.listSettled(t, p, out)
		case p.purge != nil:
			b.purgeSettled(t, p, out)
		default:
			panic("broker: a pending request of no family")
		}
	}
	b.touched = b.touched[:0]
}

// ticket names the live request in a slot.
func (s *slab) ticket(slot int32) replica.Ticket {
	return replica.Ticket(uint64(slot)<<32 | uint64(s.slots[slot].gen))
}

// alarm has a parked request touched at its deadline.
func (b *Broker) alarm(t replica.Ticket, p *pending) {
	if !p.alarmed {
		p.alarmed = true
		b.timers.Add(p.deadline, t)
	}
}
