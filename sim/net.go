package sim

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/door"
	"github.com/orrery-log/orrery/core/env"
)

// network carries frames between clients and the broker. Within a connection
// bytes keep their order; between connections nothing is ordered.
type network struct {
	w        *world
	links    map[env.ConnID]*link
	last     env.ConnID
	draws    uint64
	downTill env.Time
	slowTill env.Time // no reply leaves the broker before
	limits   door.Limits
	door     door.Scratch
}

// link is one connection, both ends of it.
type link struct {
	net    *network
	id     env.ConnID
	life   uint64 // of the broker that it leads to
	name   string // client id
	open   bool   // as the client sees it
	served bool   // as the broker sees it

	corr    int32
	waiting []*call // sent and not answered, in order

	n        uint64 // requests that reached the broker
	headers  map[uint64]door.Header
	asked    map[uint64]asked     // what an answer is held against, of requests that have none yet
	replied  map[uint64]env.Reply // not sent yet, because an earlier one is missing
	sent     uint64               // replies that left
	answered uint64               // replies that the broker has made
	inbox    [][]byte             // frames that wait until the connection is not mute any more
	mute     env.Time
	arriveAt env.Time // of the last frame under way to the broker
	returnAt env.Time // of the last frame under way to the client
}

// asked is what of a request an answer is held against.
type asked struct {
	acks  int16
	purge int64 // the offset of a DeleteRecords
}

// call is one request under way.
type call struct {
	corr int32
	req  kmsg.Request
	at   env.Time
	// done gets the answer, or nil when the connection was lost or the time was up.
	done func(kmsg.Response)
}

func newNetwork(w *world) *network {
	return &network{w: w, links: map[env.ConnID]*link{},
		limits: door.Limits{Frame: 1 << 20, ProduceFrame: 100 << 20, Decompressed: 64 << 20}}
}

func (n *network) latency() env.Time {
	n.draws++
	return n.w.dice.within(drawLatency, 0, n.draws, n.w.plan.Net.Latency)
}

// dial opens a connection; nil: nobody is there.
func (n *network) dial(name string) *link {
	if !n.w.up || n.downTill > n.w.now {
		return nil
	}
	n.last++
	l := &link{net: n, id: n.last, life: n.w.life, name: name, open: true,
		headers: map[uint64]door.Header{}, asked: map[uint64]asked{}, replied: map[uint64]env.Reply{}}
	n.links[l.id] = l
	n.toBroker(l, func() {
		l.served = true
		n.w.step(env.Opened{Conn: l.id, Listener: "PLAINTEXT", Peer: name, Principal: "User:ANONYMOUS"})
	})
	return l
}

// toBroker lets something arrive at the broker's end, in order.
func (n *network) toBroker(l *link, do func()) { n.toBrokerIn(l, n.latency(), do) }

func (n *network) toBrokerIn(l *link, d env.Time, do func()) {
	l.arriveAt = max(l.arriveAt, n.w.now+d)
	n.w.queue.add(l.arriveAt, func() {
		if l.life == n.w.life && n.w.up {
			do()
		}
	})
}

// send sends a request. done is called exactly once.
func (l *link) send(req kmsg.Request, timeout env.Time, done func(kmsg.Response)) {
	n := l.net
	c := &call{corr: l.corr, req: req, at: n.w.now, done: done}
	l.corr++
	frame := door.EncodeRequest(nil, c.corr, &l.name, req)
	n.draws++
	n.w.stats.Operations++
	if p, ok := req.(*kmsg.ProduceRequest); !ok || p.Acks != 0 {
		l.waiting = append(l.waiting, c)
	} else {
		c.done = nil
		n.w.in(0, func() { done(nil) })
	}
	fate := int(n.w.dice.draw(drawLoss, 0, n.draws) % 1000)
	plan := &n.w.plan.Net
	if n.w.faults.healed {
		fate = 1000
	}
	switch {
	case fate < plan.Lost:
		half := n.w.dice.chance(drawLoss, 1, n.draws, plan.Half)
		n.w.stats.drew("connection-lost")
		if half {
			n.w.stats.drew("half-frame")
		}
		l.cut()
	case fate < plan.Lost+plan.Replies:
		n.w.stats.drew("reply-lost")
		n.toBroker(l, func() { l.arrive(frame[4:]) })
		n.toBroker(l, func() { l.hangup() })
		l.lose(n.latency())
	case fate < plan.Lost+plan.Replies+plan.Late:
		n.w.stats.drew("late-copy")
		n.toBrokerIn(l, n.w.dice.within(drawLate, 0, n.draws, plan.LateBy), func() { l.arrive(frame[4:]) })
		n.toBroker(l, func() { l.hangup() })
		l.lose(n.latency())
	default:
		n.toBroker(l, func() { l.arrive(frame[4:]) })
	}
	if timeout > 0 && c.done != nil {
		n.w.in(timeout, func() {
			if c.done != nil {
				n.w.stats.drew("client-time-out")
				l.close()
			}
		})
	}
}

// cut loses the connection now, in both directions.
func (l *link) cut() {
	l.net.toBroker(l, func() { l.hangup() })
	l.lose(l.net.latency())
}

// close is the client's own end of the connection.
func (l *link) close() {
	if l.open {
		l.net.toBroker(l, func() { l.hangup() })
		l.lose(0)
	}
}

// lose ends the connection as the client sees it: all that waits has no answer.
func (l *link) lose(d env.Time) {
	if !l.open {
		return
	}
	l.open = false
	l.net.w.in(d, func() {
		waiting := l.waiting
		l.waiting = nil
		for _, c := range waiting {
			c.end(nil)
		}
	})
}

func (c *call) end(r kmsg.Response) {
	if done := c.done; done != nil {
		c.done = nil
		done(r)
	}
}

// hangup ends the connection as the broker sees it.
func (l *link) hangup() {
	if l.served {
		l.served = false
		delete(l.net.links, l.id)
		l.net.w.step(env.Hangup{Conn: l.id})
	}
}

// arrive hands a frame to the broker, unless the connection is mute.
func (l *link) arrive(frame []byte) {
	if !l.served {
		return
	}
	w := l.net.w
	if len(l.inbox) > 0 || l.mute > w.mono+w.now {
		l.inbox = append(l.inbox, frame)
		return
	}
	l.deliver(frame)
}

func (l *link) deliver(frame []byte) {
	w := l.net.w
	w.hash.frame(frame)
	h, r, err := l.net.door.Open(frame, l.net.limits)
	if err != nil && l.name == "vandal" {
		l.hangup()
		l.lose(l.net.latency())
		return
	}
	if err != nil {
		w.fail(inconsistent, "the door refuses a sound frame of %s: %v", l.name, err)
	}
	l.n++
	r.Conn, r.N = l.id, l.n
	l.headers[l.n] = h
	switch m := r.Body.(type) {
	case *kmsg.ProduceRequest:
		l.asked[l.n] = asked{acks: m.Acks}
	case *kmsg.DeleteRecordsRequest:
		if len(m.Topics) == 1 && len(m.Topics[0].Partitions) == 1 {
			l.asked[l.n] = asked{purge: m.Topics[0].Partitions[0].Offset}
		}
	}
	w.step(r)
}

// act takes the replies of an Outbox and lets them leave in the order of N.
func (n *network) act(replies []env.Reply) {
	for _, r := range replies {
		l := n.links[r.Conn]
		if l == nil || !l.served {
			continue
		}
		if _, twice := l.replied[r.N]; twice || r.N <= l.sent || r.N > l.n {
			n.w.fail(lawBroken, "connection %d: a reply to request %d of %d, sent up to %d", r.Conn, r.N, l.n, l.sent)
		}
		l.answered++
		if r.MuteUntil > 0 {
			l.muteTill(r.MuteUntil)
		}
		l.replied[r.N] = r
		for {
			next, ok := l.replied[l.sent+1]
			if !ok {
				break
			}
			l.sent++
			delete(l.replied, l.sent)
			l.leave(next)
		}
	}
}

func (l *link) muteTill(mono env.Time) {
	w := l.net.w
	if mono <= l.mute {
		return
	}
	l.mute = mono
	l.net.w.stats.drew("muted")
	w.queue.add(max(mono-w.mono, w.now), func() {
		for l.served && l.life == w.life && len(l.inbox) > 0 && l.mute <= w.mono+w.now {
			frame := l.inbox[0]
			l.inbox = l.inbox[1:]
			l.deliver(frame)
		}
	})
}

// leave seals a reply and sends it.
func (l *link) leave(r env.Reply) {
	n := l.net
	h := l.headers[r.N]
	delete(l.headers, r.N)
	switch r.Kind {
	case env.Silent:
		return
	case env.Close:
		n.w.in(0, func() { l.hangup() })
		l.lose(n.latency())
		return
	}
	n.w.forms.replied(r.Body, l.asked[r.N])
	delete(l.asked, r.N)
	bytes := door.Seal(nil, h, r.Body)
	n.w.hash.frame(bytes)
	n.draws++
	life := n.w.life
	leaves := max(n.w.now+n.w.dice.within(drawSent, 0, n.draws, Span{5 * env.Microsecond, 2 * env.Millisecond}), n.slowTill, l.returnAt)
	l.returnAt = leaves
	n.w.queue.add(leaves, func() {
		if n.w.life != life || !l.served {
			return
		}
		if n.draws%16 == 0 && string(door.Seal(nil, h, r.Body)) != string(bytes) {
			n.w.fail(lawBroken, "law 1: the reply to request %d of connection %d changed after its Outbox", r.N, r.Conn)
		}
		n.w.step(env.Sent{Conn: l.id, N: r.N})
	})
	arrives := leaves + n.latency()
	l.returnAt = arrives
	n.w.queue.add(arrives, func() { l.receive(bytes) })
}

// receive decodes a response for the client that waits for it.
func (l *link) receive(bytes []byte) {
	if !l.open || len(l.waiting) == 0 {
		return
	}
	c := l.waiting[0]
	l.waiting = l.waiting[1:]
	w := l.net.w
	if size := int(binary.BigEndian.Uint32(bytes)); size != len(bytes)-4 {
		w.fail(inconsistent, "a response of %d bytes says %d", len(bytes)-4, size)
	}
	corr, resp, err := door.DecodeResponse(bytes[4:], c.req.Key(), c.req.GetVersion())
	if err != nil {
		w.fail(inconsistent, "%s: an answer to key %d that does not decode: %v", l.name, c.req.Key(), err)
	}
	if corr != c.corr {
		w.fail(inconsistent, "%s: correlation %d where %d was due", l.name, corr, c.corr)
	}
	c.end(resp)
}

// crash: all connections are lost.
func (n *network) crash() {
	for _, id := range n.ids() {
		l := n.links[id]
		l.served = false
		l.lose(n.latency())
	}
	clear(n.links)
}

// ids are the connections in the order of their making.
func (n *network) ids() []env.ConnID {
	ids := make([]env.ConnID, 0, len(n.links))
	for id := env.ConnID(1); id <= n.last; id++ {
		if n.links[id] != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// down loses every connection; none can be made for a time.
func (n *network) down(d env.Time) {
	n.downTill = max(n.downTill, n.w.now+d)
	for _, id := range n.ids() {
		n.links[id].cut()
	}
}
