package net

import (
	"encoding/binary"
	"errors"
	"io"
	gonet "net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orrery-log/orrery/core/door"
)

// script is a connection that yields its bytes in pieces of the given lengths, in turn.
type script struct {
	gonet.Conn
	bytes  []byte
	pieces []byte
	turn   int
}

func (s *script) Read(p []byte) (int, error) {
	if len(s.bytes) == 0 {
		return 0, io.EOF
	}
	n := len(s.bytes)
	if len(s.pieces) > 0 {
		n = 1 + int(s.pieces[s.turn%len(s.pieces)])
		s.turn++
	}
	n = copy(p, s.bytes[:min(n, len(s.bytes))])
	s.bytes = s.bytes[n:]
	return n, nil
}

func (s *script) SetReadDeadline(time.Time) error { return nil }

func newArrival(src gonet.Conn, o *Options) *arrival {
	return &arrival{
		src: src, opt: o, small: &budget{max: o.SmallBytes}, large: &budget{max: o.LargeBytes},
		idle:  func() time.Duration { return time.Hour },
		ended: func() bool { return false },
		lead:  make([]byte, o.Lead),
	}
}

// plainFrames cuts bytes into frames the plain way.
func plainFrames(b []byte, l door.Limits) (frames [][]byte, refused bool) {
	for {
		if len(b) < 4 {
			return frames, false
		}
		size := int64(int32(binary.BigEndian.Uint32(b)))
		if size < 8 {
			return frames, true // whatever follows
		}
		if len(b) < 8 {
			return frames, false
		}
		key, _, _ := door.Peek(b[4:])
		if size > int64(door.FrameLimit(l, key)) {
			return frames, true
		}
		if int64(len(b)) < 4+size {
			return frames, false
		}
		frames = append(frames, b[4:4+size])
		b = b[4+size:]
	}
}

func FuzzArrivalCutsWhatThePlainWayCuts(f *testing.F) {
	f.Add(append(ask(1), ask(2)...), []byte{0, 3, 1}, uint8(0))
	f.Add(append(produce(1, 3000), ask(2)...), []byte{200}, uint8(1))
	f.Add(append(ask(1), prefix(1<<30)...), []byte{5}, uint8(2))
	f.Add(append(produce(1, 100), produce(2, 5000)...), []byte{7, 255}, uint8(3))
	f.Add(append(ask(1), 0xff, 0xff, 0xff, 0xff, 0), []byte{5}, uint8(0))
	f.Fuzz(func(t *testing.T, bytes, pieces []byte, shape uint8) {
		o := DefaultOptions()
		o.Limits = door.Limits{Frame: 200, ProduceFrame: 8000}
		o.Lead = 16 + int(shape)
		o.LargeBytes = 1000
		o.Eager = int(shape%4) * 100
		want, refused := plainFrames(bytes, o.Limits)
		in := newArrival(&script{bytes: bytes, pieces: pieces}, &o)
		for _, frame := range want {
			got, c, err := in.next()
			require.NoError(t, err)
			require.Equal(t, frame, got)
			require.EqualValues(t, len(frame), c.bytes)
			c.giveBack()
		}
		_, c, err := in.next()
		require.Equal(t, refused, errors.Is(err, errFrame), "%v", err)
		require.Error(t, err)
		require.LessOrEqual(t, c.bytes, max(int64(4*len(bytes)), int64(4*o.Lead), int64(o.Eager)))
		c.giveBack()
		require.Zero(t, in.small.inHand()+in.large.inHand())
	})
}

func TestBudgetHoldsAtMostItsMaximumAndOneFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const largest = 50
		b := &budget{max: 100}
		claims := map[int]*claim{}
		gone := make(chan struct{})
		close(gone) // nobody waits: a claim that finds no room is given back
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			id := rapid.IntRange(0, 9).Draw(t, "frame")
			c := claims[id]
			if c == nil {
				c = &claim{}
				claims[id] = c
			}
			left := largest - c.bytes
			n := rapid.Int64Range(0, largest).Draw(t, "bytes")
			if n == 0 || left < n || !b.take(c, n, time.Now().Add(time.Hour), gone) {
				c.giveBack()
			}
			sum, passes := int64(0), 0
			for _, c := range claims {
				sum += c.bytes
				if c.pass {
					passes++
				}
			}
			require.Equal(t, sum, b.inHand())
			require.LessOrEqual(t, sum, b.max+largest)
			require.LessOrEqual(t, passes, 1)
			require.Equal(t, passes == 1, b.passed)
		}
		for _, c := range claims {
			c.giveBack()
		}
		require.Zero(t, b.inHand())
	})
}

func TestBudgetServesWaitersInTheOrderOfTheirArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &budget{max: 20}
		late := time.Now().Add(time.Minute)
		var first, second, large, little, never claim
		require.True(t, b.take(&first, 15, late, nil))
		require.True(t, b.take(&second, 10, late, nil), "the pass")
		go b.take(&large, 15, late, nil)
		synctest.Wait()
		go b.take(&little, 1, late, nil)
		synctest.Wait()
		first.giveBack()
		synctest.Wait()
		require.EqualValues(t, 10, b.inHand(), "the little one fits, but it is not its turn")
		second.giveBack()
		synctest.Wait()
		require.EqualValues(t, 16, b.inHand())
		require.EqualValues(t, 15, large.bytes)
		require.EqualValues(t, 1, little.bytes)
		require.True(t, b.take(&second, 10, late, nil), "the pass")
		require.False(t, b.take(&never, 10, late, nil), "and a minute later it is given up")
		require.Empty(t, b.waiting)
	})
}
