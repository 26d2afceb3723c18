package net

import (
	"encoding/binary"
	"io"
	gonet "net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/door"
	"github.com/orrery-log/orrery/core/env"
)

// core is a fake core: it keeps what the sink was told and answers when the test
// says so, or at once.
type core struct {
	s  *Server
	at time.Time

	mu       sync.Mutex
	events   []env.Event
	changed  sync.Cond
	answer   bool                          // every request at once
	onAnswer func(r env.Request) env.Reply // nil: a Body
}

func start(t *testing.T, change func(*Options)) *core {
	t.Helper()
	c := &core{at: time.Now()}
	c.changed.L = &c.mu
	o := DefaultOptions()
	o.Limits = door.DefaultLimits()
	o.Mono = func() env.Time { return env.Time(time.Since(c.at)) }
	o.Sink = c.sink
	if change != nil {
		change(&o)
	}
	c.s = NewServer(o)
	return c
}

func (c *core) sink(ev env.Event) {
	c.mu.Lock()
	c.events = append(c.events, ev)
	c.changed.Broadcast()
	answer := c.answer
	c.mu.Unlock()
	if r, ok := ev.(env.Request); ok && answer {
		c.s.Reply(c.replyTo(r))
	}
}

func (c *core) replyTo(r env.Request) env.Reply {
	if c.onAnswer != nil {
		return c.onAnswer(r)
	}
	return env.Reply{Conn: r.Conn, N: r.N, Body: r.Body.ResponseKind()}
}

// await returns the first n events of a type.
func await[E env.Event](c *core, n int) []E {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if found := only[E](c.events); len(found) >= n {
			return found[:n]
		}
		c.changed.Wait()
	}
}

func only[E env.Event](events []env.Event) []E {
	var found []E
	for _, ev := range events {
		if e, ok := ev.(E); ok {
			found = append(found, e)
		}
	}
	return found
}

func (c *core) seen() []env.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]env.Event(nil), c.events...)
}

// pipe connects a client that shares no buffer with the server: what it does not
// read, the server can not write.
func (c *core) pipe(t *testing.T) gonet.Conn {
	t.Helper()
	client, server := gonet.Pipe()
	t.Cleanup(func() { client.Close() })
	c.s.admit(server, "PLAINTEXT")
	return client
}

// dial connects a client by TCP.
func (c *core) dial(t *testing.T) gonet.Conn {
	t.Helper()
	l, err := Listen("127.0.0.1:0")
	require.NoError(t, err)
	c.s.Serve(l, "PLAINTEXT")
	client, err := gonet.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

// ask is a whole frame of a Metadata request.
func ask(correlation int32) []byte {
	req := kmsg.NewPtrMetadataRequest()
	req.SetVersion(12)
	return door.EncodeRequest(nil, correlation, nil, req)
}

// produce is a whole frame of a Produce request of about size bytes, whose records are no batch.
func produce(correlation int32, size int) []byte {
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(9)
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic = "t"
	part := kmsg.NewProduceRequestTopicPartition()
	part.Records = make([]byte, size)
	topic.Partitions = append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	return door.EncodeRequest(nil, correlation, nil, req)
}

// prefix announces a Produce frame and brings only its key and version.
func prefix(size int32) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(size)), 0, 0, 0, 9)
}

// correlations reads n answers.
func correlations(t *testing.T, r io.Reader, n int) []int32 {
	t.Helper()
	var all []int32
	for range n {
		var head [8]byte
		_, err := io.ReadFull(r, head[:])
		require.NoError(t, err)
		_, err = io.CopyN(io.Discard, r, int64(binary.BigEndian.Uint32(head[:]))-4)
		require.NoError(t, err)
		all = append(all, int32(binary.BigEndian.Uint32(head[4:])))
	}
	return all
}

// requireClosed reads until the server closes, and wants nothing more.
func requireClosed(t *testing.T, r io.Reader) {
	t.Helper()
	n, err := io.Copy(io.Discard, r)
	require.NoError(t, err)
	require.Zero(t, n, "bytes before the close")
}
