package net

import (
	"context"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
)

func TestAnswersLeaveInTheOrderOfTheirRequests(t *testing.T) {
	c := start(t, nil)
	client := c.dial(t)
	var all []byte
	for i := range int32(5) {
		all = append(all, ask(100+i)...)
	}
	_, err := client.Write(all)
	require.NoError(t, err)
	requests := await[env.Request](c, 5)
	for i := 4; i >= 0; i-- {
		require.EqualValues(t, i+1, requests[i].N)
		c.s.Reply(c.replyTo(requests[i]))
	}
	require.Equal(t, []int32{100, 101, 102, 103, 104}, correlations(t, client, 5))
	sent := await[env.Sent](c, 5)
	for i, s := range sent {
		require.EqualValues(t, i+1, s.N)
	}
	client.Close()
	await[env.Hangup](c, 1)
	events := c.seen()
	require.IsType(t, env.Opened{}, events[0])
	require.IsType(t, env.Hangup{}, events[len(events)-1])
}

func TestUnansweredRequestsOfOneConnectionAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, func(o *Options) { o.MaxPipelined = 3 })
		client := c.pipe(t)
		go func() {
			for i := range int32(5) {
				if _, err := client.Write(ask(i)); err != nil {
					return
				}
			}
		}()
		synctest.Wait()
		require.Len(t, only[env.Request](c.seen()), 3)
		c.s.Reply(c.replyTo(await[env.Request](c, 1)[0]))
		correlations(t, client, 1)
		synctest.Wait()
		require.Len(t, only[env.Request](c.seen()), 4)
		c.s.stop((*conn).kill)
		synctest.Wait()
	})
}

func TestSilentAnswersNothingAndCloseClosesAfterEarlierAnswers(t *testing.T) {
	c := start(t, nil)
	client := c.dial(t)
	_, err := client.Write(append(append(ask(1), ask(2)...), ask(3)...))
	require.NoError(t, err)
	r := await[env.Request](c, 3)
	c.s.Reply(env.Reply{Conn: r[2].Conn, N: 3, Kind: env.Close})
	c.s.Reply(env.Reply{Conn: r[0].Conn, N: 1, Kind: env.Silent})
	c.s.Reply(c.replyTo(r[1]))
	require.Equal(t, []int32{2}, correlations(t, client, 1))
	requireClosed(t, client)
	await[env.Hangup](c, 1)
	require.Equal(t, []env.Sent{{Conn: r[0].Conn, N: 2}}, only[env.Sent](c.seen()))
}

func TestMutedConnectionIsNotServedUntilItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, nil)
		client := c.pipe(t)
		go client.Write(append(ask(1), ask(2)...))
		first := await[env.Request](c, 2)[0]
		reply := c.replyTo(first)
		reply.MuteUntil = c.s.opt.Mono() + 10*env.Second
		c.s.Reply(reply)
		c.s.Reply(c.replyTo(await[env.Request](c, 2)[1]))
		correlations(t, client, 2) // answered first
		go client.Write(ask(3))
		time.Sleep(9 * time.Second)
		synctest.Wait()
		require.Len(t, only[env.Request](c.seen()), 2)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Len(t, only[env.Request](c.seen()), 3)
		client.Close()
		synctest.Wait()
	})
}

func TestIdleConnectionIsClosedAndAnOpenRequestIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, nil)
		quiet, waits := c.pipe(t), c.pipe(t)
		_, err := waits.Write(ask(1))
		require.NoError(t, err)
		time.Sleep(10*time.Minute - time.Second)
		synctest.Wait()
		require.Empty(t, only[env.Hangup](c.seen()))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, []env.Hangup{{Conn: 1}}, only[env.Hangup](c.seen()))
		requireClosed(t, quiet)

		time.Sleep(time.Hour)
		c.s.Reply(c.replyTo(await[env.Request](c, 1)[0]))
		require.Equal(t, []int32{1}, correlations(t, waits, 1))
		time.Sleep(10*time.Minute - time.Second)
		synctest.Wait()
		require.Len(t, only[env.Hangup](c.seen()), 1)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Len(t, only[env.Hangup](c.seen()), 2)
	})
}

func TestHalfAFrameLosesItsConnectionHoweverItDrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, nil)
		half, drip := c.pipe(t), c.pipe(t)
		_, err := half.Write(ask(1)[:9])
		require.NoError(t, err)
		go func() {
			for _, b := range produce(2, 100_000) {
				time.Sleep(time.Second)
				if _, err := drip.Write([]byte{b}); err != nil {
					return
				}
			}
		}()
		time.Sleep(29 * time.Second)
		synctest.Wait()
		require.Empty(t, only[env.Hangup](c.seen()))
		time.Sleep(4 * time.Second)
		synctest.Wait()
		require.Len(t, only[env.Hangup](c.seen()), 2)
		require.Zero(t, c.s.Stats().InHand)
		time.Sleep(time.Minute) // the dripping goroutine meets the closed pipe
	})
}

func TestLargeFrameOnASlowLineArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, nil)
		client := c.pipe(t)
		frame := produce(7, 4<<20)
		for len(frame) > 0 { // 20 KiB a second: more than three minutes
			n := min(len(frame), 20<<10)
			_, err := client.Write(frame[:n])
			require.NoError(t, err)
			frame = frame[n:]
			time.Sleep(time.Second)
		}
		c.s.Reply(c.replyTo(await[env.Request](c, 1)[0]))
		require.Equal(t, []int32{7}, correlations(t, client, 1))
		client.Close()
		synctest.Wait()
	})
}

func TestSlowReaderIsClosedAndOthersAreServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, nil)
		c.answer = true
		slow, other := c.pipe(t), c.pipe(t)
		_, err := slow.Write(ask(1))
		require.NoError(t, err)
		for range 29 {
			_, err = other.Write(ask(2))
			require.NoError(t, err)
			require.Equal(t, []int32{2}, correlations(t, other, 1))
			time.Sleep(time.Second)
		}
		require.Empty(t, only[env.Hangup](c.seen()))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, []env.Hangup{{Conn: 1}}, only[env.Hangup](c.seen()))
		other.Close()
		synctest.Wait()
	})
}

func TestReaderThatStopsIsClosedHoweverMuchItTookBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, func(o *Options) { o.MinRate = 1 }) // by rate alone a byte buys a second
		c.onAnswer = func(r env.Request) env.Reply {
			res := r.Body.ResponseKind().(*kmsg.MetadataResponse)
			name := strings.Repeat("x", 10_000)
			res.Topics = append(res.Topics, kmsg.MetadataResponseTopic{Topic: &name})
			return env.Reply{Conn: r.Conn, N: r.N, Body: res}
		}
		c.answer = true
		client := c.pipe(t)
		_, err := client.Write(ask(1))
		require.NoError(t, err)
		for range 20 { // slow, but it moves
			time.Sleep(20 * time.Second)
			_, err := io.ReadFull(client, make([]byte, 400))
			require.NoError(t, err)
		}
		time.Sleep(29 * time.Second)
		synctest.Wait()
		require.Empty(t, only[env.Hangup](c.seen()))
		time.Sleep(6 * time.Second)
		synctest.Wait()
		require.Len(t, only[env.Hangup](c.seen()), 1)
	})
}

func TestRefusedFramesCloseAfterEarlierAnswers(t *testing.T) {
	unknownKey := append([]byte{0, 0, 0, 10}, 0x7f, 0xff, 0, 0, 0, 0, 0, 1, 0, 0)
	badVersion := append([]byte{0, 0, 0, 10}, 0, 3, 0, 99, 0, 0, 0, 1, 0, 0)
	garbage := append([]byte{0, 0, 0, 20}, append([]byte{0, 3, 0, 12, 0, 0, 0, 1}, []byte("\xff\xffgarbage123")...)...)
	for name, frame := range map[string][]byte{
		"negative size": prefix(-1), "size zero": prefix(0), "two gigabytes": prefix(1<<31 - 1), "unknown key": unknownKey,
		"version 99": badVersion, "garbage": garbage,
		"metadata beyond its limit": {0, 0x20, 0, 0, 0, 3, 0, 12},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, nil)
			client := c.dial(t)
			_, err := client.Write(append(ask(5), frame...))
			require.NoError(t, err)
			c.s.Reply(c.replyTo(await[env.Request](c, 1)[0]))
			require.Equal(t, []int32{5}, correlations(t, client, 1))
			requireClosed(t, client)
			await[env.Hangup](c, 1)
			require.Len(t, only[env.Request](c.seen()), 1)
		})
	}
}

func TestAnnouncedBytesHoldNoMemory(t *testing.T) {
	const clients = 2000
	c := start(t, func(o *Options) { o.LargeBytes = 8 << 20 })
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range clients {
		size := int32(100 << 20)
		if i%2 == 0 {
			size = 1 << 20 // small enough to be believed, while there is room
		}
		_, err := c.pipe(t).Write(prefix(size))
		require.NoError(t, err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.LessOrEqual(t, c.s.Stats().InHand, int64(8<<20+100<<20)/4)
	require.Less(t, int64(after.HeapInuse)-int64(before.HeapInuse), int64(clients*32<<10))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c.s.Drain(ctx)
	require.Zero(t, c.s.Stats().InHand)
}

func TestFramesBeyondTheBudgetWaitForOthersAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, func(o *Options) { o.LargeBytes = 1 << 20; o.Eager = 0 })
		for range 4 {
			client := c.pipe(t)
			go func() {
				client.Write(produce(1, 600_000))
				io.Copy(io.Discard, client)
			}()
		}
		synctest.Wait()
		// One is within the budget, the second has the pass, the others wait with what fitted.
		require.Len(t, only[env.Request](c.seen()), 2)
		// Small requests have a budget of their own.
		small := c.pipe(t)
		_, err := small.Write(ask(3))
		require.NoError(t, err)
		await[env.Request](c, 3)
		for n := range 5 {
			c.s.Reply(c.replyTo(await[env.Request](c, n+1)[n]))
			if n == 2 {
				correlations(t, small, 1)
			}
		}
		synctest.Wait()
		require.Zero(t, c.s.Stats().InHand)
		c.s.stop((*conn).kill)
		synctest.Wait()
	})
}

func TestNewestConnectionBeyondTheMaximumIsClosed(t *testing.T) {
	c := start(t, func(o *Options) { o.MaxConns = 2 })
	c.answer = true
	a := c.pipe(t)
	c.pipe(t)
	requireClosed(t, c.pipe(t))
	_, err := a.Write(ask(1))
	require.NoError(t, err)
	require.Equal(t, []int32{1}, correlations(t, a, 1))
	a.Close()
	await[env.Hangup](c, 1)
	d := c.pipe(t)
	_, err = d.Write(ask(2))
	require.NoError(t, err)
	require.Equal(t, []int32{2}, correlations(t, d, 1))
}

func TestDrainAnswersWhatIsInFlightAndTakesNothingNew(t *testing.T) {
	c := start(t, nil)
	busy, idle := c.dial(t), c.dial(t)
	_, err := busy.Write(append(ask(1), ask(2)[:10]...))
	require.NoError(t, err)
	r := await[env.Request](c, 1)[0]
	await[env.Opened](c, 2)
	drained := make(chan struct{})
	go func() {
		c.s.Drain(context.Background())
		close(drained)
	}()
	requireClosed(t, idle)
	_, err = busy.Write(ask(2)[10:])
	require.NoError(t, err)
	c.s.Reply(c.replyTo(r))
	require.Equal(t, []int32{1}, correlations(t, busy, 1))
	<-drained
	require.Len(t, only[env.Request](c.seen()), 1)
	require.Len(t, only[env.Hangup](c.seen()), 2)
}

func TestDrainCutsWhatDoesNotEnd(t *testing.T) {
	c := start(t, nil)
	client := c.dial(t)
	_, err := client.Write(ask(1))
	require.NoError(t, err)
	await[env.Request](c, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	c.s.Drain(ctx)
	require.Len(t, only[env.Hangup](c.seen()), 1)
	c.s.Reply(env.Reply{Conn: 1, N: 1}) // too late, and no harm
}

func TestAnswerThatIsNotOwedPanics(t *testing.T) {
	c := start(t, nil)
	client := c.dial(t)
	_, err := client.Write(ask(1))
	require.NoError(t, err)
	r := await[env.Request](c, 1)[0]
	require.Panics(t, func() { c.s.Reply(env.Reply{Conn: r.Conn, N: 2}) })
	require.Panics(t, func() { c.s.Reply(env.Reply{Conn: r.Conn, N: 0}) })
}

func TestDrainDoesNotWaitForPolls(t *testing.T) {
	c := start(t, func(o *Options) { o.Polls = func(key int16) bool { return key == 3 } })
	client := c.dial(t)
	_, err := client.Write(ask(1))
	require.NoError(t, err)
	await[env.Request](c, 1)
	c.s.Drain(context.Background())
	requireClosed(t, client)
}
