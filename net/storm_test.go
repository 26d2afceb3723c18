package net

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	gonet "net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
)

// TestStormOfClientsLeavesNothingBehind lets clients come, ask, half ask, not read,
// and vanish, while answers come in any order and of any kind, and at last drains.
func TestStormOfClientsLeavesNothingBehind(t *testing.T) {
	c := start(t, func(o *Options) { o.LargeBytes = 1 << 20; o.MaxPipelined = 4; o.Eager = 100_000 })
	l, err := Listen("127.0.0.1:0")
	require.NoError(t, err)

	// The core: answers each request from a goroutine of its own, so in any order.
	var answering sync.WaitGroup
	c.s.opt.Sink = func(ev env.Event) {
		c.sink(ev)
		r, ok := ev.(env.Request)
		if !ok {
			return
		}
		answering.Add(1)
		go func() {
			defer answering.Done()
			reply := c.replyTo(r)
			switch rand.IntN(40) {
			case 0:
				reply.Kind = env.Close
			case 1:
				reply.Kind = env.Silent
			case 2:
				reply.MuteUntil = c.s.opt.Mono() + 5*env.Millisecond
			}
			c.s.Reply(reply)
		}()
	}

	c.s.Serve(l, "PLAINTEXT")
	var clients sync.WaitGroup
	for seed := range uint64(100) {
		clients.Add(1)
		go func() {
			defer clients.Done()
			storm(rand.New(rand.NewPCG(seed, 0)), l.Addr().String())
		}()
	}
	clients.Wait()
	patience, done := context.WithTimeout(context.Background(), time.Minute)
	defer done()
	c.s.Drain(patience)
	require.NoError(t, patience.Err(), "a drain that had to cut")
	answering.Wait()
	require.Zero(t, c.s.Stats().InHand)
	require.Zero(t, c.s.Stats().Conns)
	requireLives(t, c.seen())
}

// storm is one client's life.
func storm(r *rand.Rand, address string) {
	client, err := gonet.Dial("tcp", address)
	if err != nil {
		return // the listener is never closed before the clients are done
	}
	defer client.Close()
	if r.IntN(3) > 0 {
		go io.Copy(io.Discard, client)
	}
	for range r.IntN(20) {
		frame := ask(1)
		if r.IntN(3) == 0 {
			frame = produce(2, r.IntN(600_000))
		}
		if r.IntN(20) == 0 {
			frame = frame[:r.IntN(len(frame))]
		}
		if _, err := client.Write(frame); err != nil {
			return
		}
	}
}

// requireLives checks each connection's events: Opened, Requests 1, 2, 3, …, Hangup,
// and Sent in rising order, of requests that were there, before Hangup.
func requireLives(t *testing.T, events []env.Event) {
	t.Helper()
	type life struct {
		asked, sent uint64
		over        bool
	}
	lives := map[env.ConnID]*life{}
	for _, ev := range events {
		switch e := ev.(type) {
		case env.Opened:
			require.Nil(t, lives[e.Conn])
			lives[e.Conn] = &life{}
		case env.Request:
			l := lives[e.Conn]
			l.asked++
			require.Equal(t, l.asked, e.N)
			require.False(t, l.over)
		case env.Sent:
			l := lives[e.Conn]
			require.Greater(t, e.N, l.sent)
			require.LessOrEqual(t, e.N, l.asked)
			require.False(t, l.over)
			l.sent = e.N
		case env.Hangup:
			require.False(t, lives[e.Conn].over)
			lives[e.Conn].over = true
		default:
			require.Fail(t, fmt.Sprintf("%T", ev))
		}
	}
	for id, l := range lives {
		require.True(t, l.over, "connection %d", id)
	}
}
