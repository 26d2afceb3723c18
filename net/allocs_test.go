package net

import (
	"io"
	gonet "net"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/door"
	"github.com/orrery-log/orrery/core/env"
)

// echo is a server that answers at once, and a client.
func echo(t testing.TB) gonet.Conn {
	o := DefaultOptions()
	o.Limits = door.DefaultLimits()
	o.Mono = func() env.Time { return 1 }
	var s *Server
	answer := kmsg.NewPtrListOffsetsResponse()
	o.Sink = func(ev env.Event) {
		if r, ok := ev.(env.Request); ok {
			reply := env.Reply{Conn: r.Conn, N: r.N, Body: answer}
			if r.Body.Key() != answer.Key() {
				reply.Body = r.Body.ResponseKind()
			}
			s.Reply(reply)
		}
	}
	s = NewServer(o)
	l, err := Listen("127.0.0.1:0")
	require.NoError(t, err)
	s.Serve(l, "PLAINTEXT")
	client, err := gonet.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	return client
}

func TestRequestAndAnswerAllocateLittle(t *testing.T) {
	client := echo(t)
	req := kmsg.NewPtrListOffsetsRequest()
	req.SetVersion(7)
	ask := door.EncodeRequest(nil, 1, nil, req)
	answer := make([]byte, 4+4+1+4+1+1)
	turn := func() {
		_, err := client.Write(ask)
		require.NoError(t, err)
		_, err = io.ReadFull(client, answer)
		require.NoError(t, err)
	}
	turn()
	// The frame, the request of kmsg, the Request and the Sent as events; and what
	// kmsg makes of an empty array.
	allocs := testing.AllocsPerRun(200, turn)
	require.LessOrEqual(t, allocs, 7.0)
	t.Logf("%.1f allocations", allocs)
}

func BenchmarkRoundTrip(b *testing.B) {
	client := echo(b)
	req := kmsg.NewPtrListOffsetsRequest()
	req.SetVersion(7)
	ask := door.EncodeRequest(nil, 1, nil, req)
	answer := make([]byte, 4+4+1+4+1+1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.Write(ask); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(client, answer); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkProduceFrames(b *testing.B) {
	client := echo(b)
	go io.Copy(io.Discard, client)
	frame := produce(1, 1<<20)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.Write(frame); err != nil {
			b.Fatal(err)
		}
	}
}
