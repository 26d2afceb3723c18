package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
)

// conn is a client's connection.
type conn struct {
	listener, principal string
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
// state, and find nobody to answer.
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
	b.feed()
	for slot := range b.pending.slots {
		if p := &b.pending.slots[slot]; p.live && p.conn == e.Conn {
			b.touch(b.pending.ticket(int32(slot)))
		}
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

// reply answers the n-th request of a connection, when there still is one.
// size is what the reply holds in memory until it is Sent, 0 when that is little.
func (b *Broker) reply(out *env.Outbox, id env.ConnID, n uint64, body kmsg.Response, size int64) {
	c := b.conns[id]
	if c == nil {
		return
	}
	if size > 0 {
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
