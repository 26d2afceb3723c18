package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
)

// conn is a client's connection.
type conn struct {
	listener, principal string
	// parked is the newest of its parked requests, as slot+1; 0: none.
	parked int32
	// held are the bytes of its produces that were admitted and have no reply yet.
	held int64
	// unsent are the replies that have not left, in the order of their making.
	unsent []unsentReply
	// owed are the bytes of unsent, and of reads under way for its fetches.
	owed int64
}

type unsentReply struct {
	n    uint64
	size int64
}

func (b *Broker) onOpened(e env.Opened) {
	c := b.conns[e.Conn]
	if c == nil {
		c = &conn{}
		b.conns[e.Conn] = c
	}
	c.listener, c.principal = e.Listener, e.Principal
}

// onHangup forgets the connection: its requests go on where they have changed
// state, and find nobody to answer. Those that have not are forgotten with it, or
// clients that come, ask and go could have any amount of them wait here.
func (b *Broker) onHangup(e env.Hangup, out *env.Outbox) {
	c := b.conns[e.Conn]
	if c == nil {
		return
	}
	for _, u := range c.unsent {
		b.unsent -= u.size
	}
	delete(b.conns, e.Conn)
	b.lobby.forget(e.Conn)
	b.admin.queue = slices.DeleteFunc(b.admin.queue, func(op adminOp) bool { return op.conn == e.Conn && !op.own() })
	b.ids.waiting = slices.DeleteFunc(b.ids.waiting, func(w idRequest) bool { return w.conn == e.Conn })
	b.feed()
	for at := c.parked; at != 0; at = b.pending.slots[at-1].behind {
		b.touch(b.pending.ticket(at - 1))
	}
}

func (b *Broker) onSent(e env.Sent) {
	c := b.conns[e.Conn]
	if c == nil {
		return
	}
	for i, u := range c.unsent {
		if u.n == e.N {
			b.unsent -= u.size
			c.owed -= u.size
			c.unsent = append(c.unsent[:i], c.unsent[i+1:]...)
			b.feed()
			return
		}
	}
}

// reply answers the n-th request of a connection, when there still is one. What
// the answer holds in memory counts until it is Sent.
func (b *Broker) reply(out *env.Outbox, id env.ConnID, n uint64, body kmsg.Response) {
	c := b.conns[id]
	if c == nil {
		return
	}
	if size := weigh(body); size > littleBytes {
		c.unsent = append(c.unsent, unsentReply{n, size})
		b.unsent += size
		c.owed += size
	}
	out.Replies = append(out.Replies, env.Reply{Conn: id, N: n, Kind: env.Body, Body: body})
}

// silence ends a request that gets no bytes, or closes its connection.
func (b *Broker) silence(out *env.Outbox, id env.ConnID, n uint64, kind env.ReplyKind) {
	if b.conns[id] != nil {
		out.Replies = append(out.Replies, env.Reply{Conn: id, N: n, Kind: kind})
	}
}
