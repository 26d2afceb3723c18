package net

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	gonet "net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/orrery-log/orrery/core/door"
	"github.com/orrery-log/orrery/core/env"
)

// Server serves the connections of all its listeners.
type Server struct {
	opt      Options
	small    budget
	large    budget
	outgoing sync.Pool // of *outgoing
	scratch  sync.Pool // of *door.Scratch: decompressors
	stats    stats

	mu        sync.Mutex
	conns     map[env.ConnID]*conn
	listeners []gonet.Listener
	last      env.ConnID
	draining  bool
	running   sync.WaitGroup // accept loops and connections
}

type stats struct {
	accepted, refused, frames, received, sent atomic.Int64
}

// Stats are counts since the start, and what is there now.
type Stats struct {
	Conns                     int
	Accepted, Refused, Frames int64
	Received, Sent            int64 // bytes
	InHand                    int64 // bytes of frames arriving or not answered
}

// NewServer makes a server without listeners.
func NewServer(o Options) *Server {
	if o.Mono == nil || o.Sink == nil || o.Log == nil || o.Lead < 16 || o.MaxPipelined < 1 || o.MinRate < 1 || o.WriteBytes < 1 {
		panic(fmt.Sprintf("net: options lack something: %+v", o))
	}
	s := &Server{opt: o, conns: map[env.ConnID]*conn{}}
	s.small.max, s.large.max = o.SmallBytes, o.LargeBytes
	s.outgoing.New = func() any { return new(outgoing) }
	s.scratch.New = func() any { return new(door.Scratch) }
	return s
}

// Listen binds an address. Connections queue in the system until Serve: Go asks
// for the longest accept queue that the system allows, so a burst of clients does
// not meet a full one.
func Listen(address string) (gonet.Listener, error) { return gonet.Listen("tcp", address) }

// Serve accepts connections of a listener until Drain or Close, in a goroutine of
// its own. name is the listener's name as clients' metadata knows it.
func (s *Server) Serve(l gonet.Listener, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		_ = l.Close() // too late for a first client
		return
	}
	s.listeners = append(s.listeners, l)
	s.running.Add(1)
	go s.accept(l, name)
}

func (s *Server) accept(l gonet.Listener, name string) {
	defer s.running.Done()
	pause := time.Duration(0)
	for {
		tcp, err := l.Accept()
		switch {
		case errors.Is(err, gonet.ErrClosed):
			return
		case err != nil: // out of descriptors, mostly: others may free some
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			s.opt.Log.Warn("can not accept a connection", "listener", name, "error", err, "again in", pause)
			time.Sleep(pause)
		default:
			pause = 0
			s.admit(tcp, name)
		}
	}
}

// admit gives a connection its id and its goroutines, or closes it.
func (s *Server) admit(tcp gonet.Conn, name string) {
	s.tune(tcp)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining || len(s.conns) >= s.opt.MaxConns {
		if s.stats.refused.Add(1) == 1 && !s.draining {
			s.opt.Log.Warn("too many connections, the newest are closed", "max", s.opt.MaxConns, "peer", tcp.RemoteAddr())
		}
		_ = tcp.Close() // it was never ours
		return
	}
	s.stats.accepted.Add(1)
	s.last++
	c := newConn(s, s.last, tcp)
	s.conns[c.id] = c
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		c.serve(name)
	}()
}

// tune sets what a listener does not: Go's own defaults are no delay and a keep
// alive probe each 15 seconds, which is what a broker wants too.
func (s *Server) tune(c gonet.Conn) {
	tcp, ok := c.(*gonet.TCPConn)
	if !ok {
		return
	}
	// A refused size leaves the system's own, which serves as well.
	if n := s.opt.SendBuffer; n > 0 {
		_ = tcp.SetWriteBuffer(n)
	}
	if n := s.opt.ReceiveBuffer; n > 0 {
		_ = tcp.SetReadBuffer(n)
	}
}

// Reply hands over an answer. It never blocks. An answer to a connection that has
// ended is dropped; one that is not owed is a mistake of the caller and panics.
func (s *Server) Reply(r env.Reply) {
	s.mu.Lock()
	c := s.conns[r.Conn]
	s.mu.Unlock()
	if c != nil {
		c.take(r)
	}
}

// forget takes an ended connection out of the books.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	delete(s.conns, c.id)
	s.mu.Unlock()
	c.mu.Lock()
	why := c.why
	c.mu.Unlock()
	level := slog.LevelDebug
	if errors.Is(why, errDoorFell) {
		level = slog.LevelError
	}
	s.opt.Log.Log(context.Background(), level, "connection ended", "conn", uint64(c.id), "peer", c.tcp.RemoteAddr().String(), "why", fmt.Sprint(why))
}

// Drain takes no new connection and no new request, answers what is in flight,
// and returns when the last connection has ended; connections that are left when
// the context ends are cut. The sink must still be served.
func (s *Server) Drain(ctx context.Context) {
	s.stop((*conn).finish)
	ended := make(chan struct{})
	go func() {
		s.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		s.stop((*conn).kill)
		<-ended
	}
}

func (s *Server) stop(end func(*conn, error)) {
	s.mu.Lock()
	s.draining = true
	for _, l := range s.listeners {
		_ = l.Close() // no further connection is wanted; that is all there is to it
	}
	all := make([]*conn, 0, len(s.conns))
	for _, c := range s.conns {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		end(c, errDrained)
	}
}

// Stats tells what has happened so far.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	n := len(s.conns)
	s.mu.Unlock()
	return Stats{
		Conns: n, Accepted: s.stats.accepted.Load(), Refused: s.stats.refused.Load(), Frames: s.stats.frames.Load(),
		Received: s.stats.received.Load(), Sent: s.stats.sent.Load(),
		InHand: s.small.inHand() + s.large.inHand(),
	}
}
