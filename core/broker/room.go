package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/wait"
)

// lobby is the queue of produces that wait, in arrival order, for room in a
// budget before they change any state. (Fetches wait parked: see fetch.go.)
type lobby struct {
	queue []waiting
	due   env.Time // no deadline in the queue is earlier
}

// waiting is one produce at the door.
type waiting struct {
	conn     env.ConnID
	n        uint64
	size     int
	deadline env.Time
	produce  *kmsg.ProduceRequest
	batches  []env.BatchInfo
}

// request is the event that w was made of.
func (w *waiting) request() env.Request {
	return env.Request{Conn: w.conn, N: w.n, Size: w.size, Batches: w.batches}
}

func (d *lobby) wakeAt() env.Time {
	if len(d.queue) == 0 {
		return wait.Never
	}
	return d.due
}

func (d *lobby) push(w waiting) {
	d.due = min(d.wakeAt(), w.deadline)
	d.queue = append(d.queue, w)
}

// take removes the i-th, mostly the first.
func (d *lobby) take(i int) waiting {
	w := d.queue[i]
	if i > 0 {
		d.queue = slices.Delete(d.queue, i, i+1)
		return w
	}
	d.queue[0] = waiting{}
	if d.queue = d.queue[1:]; len(d.queue) == 0 {
		d.queue = nil
	}
	return w
}

func (d *lobby) forget(id env.ConnID) {
	d.queue = slices.DeleteFunc(d.queue, func(w waiting) bool { return w.conn == id })
}

// waitAtDoor queues a produce that has to wait, behind those that wait already.
func (b *Broker) waitAtDoor(r env.Request, req *kmsg.ProduceRequest) bool {
	w := waiting{conn: r.Conn, n: r.N, size: r.Size, batches: r.Batches, produce: req, deadline: b.deadline(req.TimeoutMillis)}
	if len(b.lobby.queue) == 0 && b.room(&w) && b.share(&w) {
		return false
	}
	b.lobby.push(w)
	return true
}

// admitWaiting lets in the first produce that there is room for, or answers one
// whose time is up. It tells whether one left the queue.
func (b *Broker) admitWaiting(out *env.Outbox) bool {
	full, due := false, wait.Never
	var over []env.ConnID // connections that have used up their share
	for i := range b.lobby.queue {
		w := &b.lobby.queue[i]
		if b.now.Mono >= w.deadline {
			late := b.lobby.take(i)
			b.refuseWaiting(&late, out)
			return true
		}
		due = min(due, w.deadline)
		if full = full || !b.room(w); full {
			if b.now.Mono < b.lobby.due {
				return false // nobody overtakes, and nobody is late
			}
			continue
		}
		if slices.Contains(over, w.conn) {
			continue
		}
		if !b.share(w) {
			over = append(over, w.conn)
			continue
		}
		let := b.lobby.take(i)
		b.produce(let.request(), let.produce, let.deadline, out)
		return true
	}
	b.lobby.due = due // all were looked at
	return false
}

// room tells whether the budgets have room for a produce.
func (b *Broker) room(w *waiting) bool {
	size := int64(w.size)
	return fits(b.journal.Unwritten()+b.stalled, size, b.lim.Unwritten) &&
		fits(b.tails, size, b.lim.Tails) &&
		(fits(b.journal.Behind(), size, b.lim.Journal) || !b.keeper.cutting)
}

// share tells whether the connection's own share has room for it.
func (b *Broker) share(w *waiting) bool {
	c := b.conns[w.conn]
	return c == nil || !b.crowded(w.conn) && fits(c.held, int64(w.size), b.lim.Unwritten*int64(b.lim.ConnShare)/100)
}

// fits: what exceeds a whole budget is admitted when the budget is empty.
func fits(used, more, budget int64) bool { return used <= 0 || used+more <= budget }

// crowded tells whether a connection has answers that it has not taken while
// there is no room for more. One that has taken all its answers is always answered.
func (b *Broker) crowded(id env.ConnID) bool {
	c := b.conns[id]
	return c != nil && c.owed > 0 && b.replyRoom(id) <= 0
}

// waitsForRoom: a Produce waits in the lobby, where it has a deadline; what is asked
// to begin with is little.
func waitsForRoom(body kmsg.Request) bool {
	switch body.(type) {
	case *kmsg.ProduceRequest, *kmsg.ApiVersionsRequest, *kmsg.InitProducerIDRequest:
		return false
	}
	return true
}

// admitCrowd lets in the requests whose connections have taken enough of their
// answers. There is no deadline: a client that takes none loses its connection.
// It tells whether one was let in.
func (b *Broker) admitCrowd(out *env.Outbox) bool {
	if !b.fed {
		return false
	}
	b.fed = false
	crowd := b.crowd
	b.crowd = nil
	for i := range crowd {
		op := &crowd[i]
		switch {
		case b.conns[op.conn] == nil:
		case b.crowded(op.conn):
			b.crowd = append(b.crowd, *op)
		default:
			b.dispatch(env.Request{Conn: op.conn, N: op.n, Body: op.request()}, out)
		}
	}
	return len(b.crowd) < len(crowd)
}

// tailsWanted is how far the tails have to come down for the first produce at the
// door. A large one waits for less than the half at which the keeper begins by
// itself, one of the whole budget for nothing at all: nobody else would store the
// small tails that it waits for.
func (b *Broker) tailsWanted() int64 {
	if len(b.lobby.queue) == 0 {
		return b.lim.Tails
	}
	return max(0, b.lim.Tails-int64(b.lobby.queue[0].size))
}

// refuseWaiting answers a produce whose time ran out before there was room; it
// has changed nothing.
func (b *Broker) refuseWaiting(w *waiting, out *env.Outbox) {
	if w.produce.Acks == 0 {
		b.silence(out, w.conn, w.n, env.Close)
		return
	}
	p := newProduce(w.produce, w.size)
	for i := range p.parts {
		p.refuse(&p.parts[i], env.RequestTimedOut, "")
	}
	b.reply(out, w.conn, w.n, p.res)
}

// hold counts the bytes of an admitted produce at its connection until the reply.
func (b *Broker) hold(id env.ConnID, size int64) {
	if c := b.conns[id]; c != nil {
		c.held += size
	}
}

func (b *Broker) release(id env.ConnID, size int64) { b.hold(id, -size) }

// onSpace notes the free bytes of the disk.
func (b *Broker) onSpace(e env.Space, out *env.Outbox) {
	was := b.lowSpace()
	b.space = e.Free
	if low := b.lowSpace(); low != was {
		text := "free space is above the reserve again: produces are accepted"
		if low {
			text = "free space is below the reserve: produces are refused with KAFKA_STORAGE_ERROR, reads go on"
		}
		out.Notes = append(out.Notes, env.Note{Kind: env.Warn, Name: "disk.space", Text: text, Value: e.Free})
	}
}

// lowSpace: below the reserve every client request that appends is refused.
func (b *Broker) lowSpace() bool { return b.space >= 0 && b.space < b.lim.Reserve }
