package net

import (
	"errors"
	"fmt"
	"io"
	gonet "net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/orrery-log/orrery/core/door"
	"github.com/orrery-log/orrery/core/env"
)

// conn is one connection: a reader goroutine that owns its life, a writer
// goroutine, and the slots between them and the loop.
//
//	reader:  frame → door.Open → slot N at the end → sink(Request N)
//	loop:    Reply N → slot N has its reply
//	writer:  slots from the front that have a reply → door.Seal → socket → sink(Sent N)
//	reader, when both have ended: sink(Hangup)
type conn struct {
	s   *Server
	id  env.ConnID
	tcp gonet.Conn

	gone  chan struct{} // closed by kill: the socket is closed
	wrote chan struct{} // closed when the writer has ended

	mu    sync.Mutex
	moved sync.Cond // anything below has changed
	slots []slot    // requests without a written answer, in the order of N
	first uint64    // N of slots[0]
	muted env.Time  // Mono; until then no further request is delivered
	ended bool      // no further slot will come; the writer ends when none is left
	dead  bool      // gone is closed
	why   error     // what ended it; nil: the client
	last  time.Time // the last frame or answer
}

// slot is one request that is not yet answered on the wire.
type slot struct {
	header  door.Header
	claim   claim // the frame's bytes, until the reply is here
	arrived time.Time
	replied bool
	reply   env.Reply
}

func newConn(s *Server, id env.ConnID, tcp gonet.Conn) *conn {
	c := &conn{s: s, id: id, tcp: tcp, gone: make(chan struct{}), wrote: make(chan struct{}), first: 1, last: time.Now()}
	c.moved.L = &c.mu
	return c
}

// serve is the reader goroutine.
func (c *conn) serve(listener string) {
	c.s.opt.Sink(env.Opened{Conn: c.id, Listener: listener, Peer: c.tcp.RemoteAddr().String(), Principal: "User:ANONYMOUS"})
	go c.write()
	err := c.read()
	switch {
	case errors.Is(err, errFrame), errors.Is(err, errDoorFell), errors.Is(err, errDrained):
		c.finish(err) // what came before is answered first
	default:
		c.kill(err)
	}
	<-c.wrote
	c.kill(errGone)
	c.s.forget(c)
	c.s.opt.Sink(env.Hangup{Conn: c.id})
}

// read delivers requests until it meets a reason to stop.
func (c *conn) read() error {
	o := &c.s.opt
	in := arrival{src: c.tcp, opt: o, small: &c.s.small, large: &c.s.large, gone: c.gone, idle: c.idle, ended: c.draining, lead: make([]byte, o.Lead)}
	for n := uint64(1); ; n++ {
		if err := c.awaitTurn(); err != nil {
			return err
		}
		frame, held, err := in.next()
		if err != nil {
			held.giveBack()
			if c.draining() {
				err = errDrained
			}
			return err
		}
		c.s.stats.frames.Add(1)
		c.s.stats.received.Add(int64(len(frame)) + 4)
		header, req, err := c.s.open(frame)
		if err != nil {
			held.giveBack()
			return err
		}
		// A reply that came while this frame was read may have muted the connection.
		if err := c.enter(slot{header: header, claim: held}); err != nil {
			held.giveBack()
			return err
		}
		req.Conn, req.N, req.Size = c.id, n, len(frame)
		o.Sink(req)
	}
}

// open decodes a frame. The decoders read foreign bytes; should one fail in a way
// that nobody foresaw, that costs its connection and not the node.
func (s *Server) open(frame []byte) (h door.Header, r env.Request, err error) {
	scratch := s.scratch.Get().(*door.Scratch)
	defer func() {
		if p := recover(); p != nil {
			scratch = new(door.Scratch)
			err = fmt.Errorf("%w: %v\n%s", errDoorFell, p, debug.Stack())
		}
		s.scratch.Put(scratch)
	}()
	h, r, err = scratch.Open(frame, s.opt.Limits)
	if err != nil {
		err = fmt.Errorf("%w: %w", errFrame, err)
	}
	return h, r, err
}

// awaitTurn waits until the connection may deliver a further request.
func (c *conn) awaitTurn() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turn()
}

// enter waits likewise and takes a slot, in one: once the connection has ended no
// slot may appear, for nobody would give back what it holds.
func (c *conn) enter(s slot) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.turn(); err != nil {
		return err
	}
	c.last = time.Now()
	s.arrived = c.last
	c.slots = append(c.slots, s)
	return nil
}

// turn needs the lock.
func (c *conn) turn() error {
	for {
		switch {
		case c.dead:
			return errGone
		case c.ended:
			return errDrained
		}
		if len(c.slots) >= c.s.opt.MaxPipelined {
			c.moved.Wait()
			continue
		}
		rest := time.Duration(c.muted - c.s.opt.Mono())
		if rest <= 0 {
			return nil
		}
		wake := time.AfterFunc(rest, c.wake)
		c.moved.Wait()
		wake.Stop()
	}
}

func (c *conn) wake() {
	c.mu.Lock()
	c.moved.Broadcast()
	c.mu.Unlock()
}

// idle is how long nothing has happened; a request without an answer is something.
func (c *conn) idle() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.slots) > 0 {
		return 0
	}
	return time.Since(c.last)
}

func (c *conn) draining() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// finish reads no more, lets the writer write what is due, and then ends.
func (c *conn) finish(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.why == nil {
		c.why = why
	}
	c.moved.Broadcast()
	_ = c.tcp.SetReadDeadline(time.Unix(1, 0)) // ends the reader's wait; fails only on a closed socket
}

// kill closes the socket. What is not written stays unwritten.
func (c *conn) kill(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return
	}
	c.dead, c.ended = true, true
	if c.why == nil && !errors.Is(why, io.EOF) {
		c.why = why
	}
	close(c.gone)
	_ = c.tcp.Close() // nothing is owed to it any more
	for i := range c.slots {
		c.slots[i].claim.giveBack()
	}
	c.moved.Broadcast()
}

// take puts a reply into its slot. It never blocks.
func (c *conn) take(r env.Reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return
	}
	i := r.N - c.first
	if r.N < c.first || i >= uint64(len(c.slots)) || c.slots[i].replied {
		panic(fmt.Sprintf("net: reply %d of connection %d is not owed: %d requests from %d on are", r.N, c.id, len(c.slots), c.first))
	}
	s := &c.slots[i]
	s.claim.giveBack()
	s.replied, s.reply = true, r
	c.muted = max(c.muted, r.MuteUntil)
	if i == 0 || r.MuteUntil > 0 {
		c.moved.Broadcast()
	}
}

// write is the writer goroutine.
func (c *conn) write() {
	defer close(c.wrote)
	var due []slot
	for {
		due = c.takeDue(due[:0])
		if len(due) == 0 {
			return
		}
		if err := c.writeAll(due); err != nil {
			c.kill(err)
			return
		}
		clear(due) // let go of the responses
	}
}

// takeDue waits for slots that can be written and takes them. None: it is over.
func (c *conn) takeDue(due []slot) []slot {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.dead {
		n := 0
		for n < len(c.slots) && c.slots[n].replied {
			n++
		}
		if n > 0 {
			due = append(due, c.slots[:n]...)
			rest := copy(c.slots, c.slots[n:])
			clear(c.slots[rest:])
			c.slots = c.slots[:rest]
			c.first += uint64(n)
			c.moved.Broadcast() // the reader may wait for room
			return due
		}
		if c.ended && !c.owes() {
			return nil
		}
		c.moved.Wait()
	}
	return nil
}

// owes tells whether a request is unanswered that deserves its answer. It needs the lock.
func (c *conn) owes() bool {
	for i := range c.slots {
		if polls := c.s.opt.Polls; c.why != errDrained || polls == nil || !polls(c.slots[i].header.Key) {
			return true
		}
	}
	return false
}

// outgoing is what one write carries: parts that point into buf and into answers.
type outgoing struct {
	buf   []byte
	parts [][]byte
}

// writeAll writes answers, gathered into large writes.
func (c *conn) writeAll(due []slot) error {
	o := &c.s.opt
	out := c.s.outgoing.Get().(*outgoing)
	defer func() {
		if cap(out.buf) <= 4*o.WriteBytes { // a rare giant is left to the collector
			c.s.outgoing.Put(out)
		}
	}()
	for from := 0; from < len(due); {
		size, to := 0, from
		out.buf, out.parts = out.buf[:0], out.parts[:0]
		for ; to < len(due) && size < o.WriteBytes && due[to].reply.Kind != env.Close; to++ {
			if d := &due[to]; d.reply.Kind == env.Body {
				n := len(out.parts)
				out.parts, out.buf = door.SealParts(out.parts, out.buf, d.header, d.reply.Body)
				for _, p := range out.parts[n:] {
					size += len(p)
				}
			}
		}
		err := c.send(out.parts, size)
		clear(out.parts) // let go of the answers
		if err != nil {
			return err
		}
		c.sent(due[from:to])
		if to < len(due) && due[to].reply.Kind == env.Close {
			return errAsked
		}
		from = to
	}
	return nil
}

// sent tells of answers that have left.
func (c *conn) sent(done []slot) {
	o := &c.s.opt
	now := time.Now()
	c.mu.Lock()
	c.last = now
	c.mu.Unlock()
	for i := range done {
		d := &done[i]
		if d.reply.Kind != env.Body {
			continue
		}
		if o.Served != nil {
			o.Served(d.header.Key, now.Sub(d.arrived))
		}
		o.Sink(env.Sent{Conn: c.id, N: d.reply.N})
	}
}

// send writes the parts, as long as the client keeps reading.
func (c *conn) send(parts gonet.Buffers, size int) error {
	o, begun := &c.s.opt, time.Now()
	moved := begun // when the client last took something, as far as we have looked
	for done := int64(0); done < int64(size); {
		// The kernel may take megabytes at once, which at MinRate is minutes; but a
		// client that takes nothing is too slow after StallAfter, whatever it took
		// before. A write does not tell when it last moved, so it is looked at often.
		due := begun.Add(o.StallAfter + time.Duration(done*int64(time.Second)/o.MinRate))
		look := time.Now().Add(o.StallAfter / 8)
		if due.Before(look) {
			look = due
		}
		_ = c.tcp.SetWriteDeadline(look) // fails only on a closed socket, and then WriteTo says so
		n, err := parts.WriteTo(c.tcp)   // it takes what it has written off parts
		done += n
		if err == nil {
			continue
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		now := time.Now()
		if n > 0 {
			moved = now
		}
		if now.Sub(moved) >= o.StallAfter || n == 0 && !now.Before(due) {
			return errSlow
		}
	}
	c.s.stats.sent.Add(int64(size))
	return nil
}
