package net

import (
	"encoding/binary"
	"errors"
	"fmt"
	gonet "net"
	"os"
	"time"

	"github.com/orrery-log/orrery/core/door"
)

// Why a connection ended, when it was not the client who ended it.
var (
	errIdle     = errors.New("idle")
	errHalf     = errors.New("a frame began and did not arrive in time")
	errNoRoom   = errors.New("no memory for the frame in time")
	errFrame    = errors.New("frame refused")
	errSlow     = errors.New("answers are not read")
	errAsked    = errors.New("closed by the broker")
	errDrained  = errors.New("shutting down")
	errGone     = errors.New("connection gone")
	errDoorFell = errors.New("decoder failed")
)

// arrival cuts a connection's bytes into frames.
//
//	wait for the first byte          idle clock
//	read up to Lead bytes            frame clock, from the first byte on
//	size, key known: within limits?
//	small: complete it in the lead, copy it out
//	large: memory by what arrived, ×4 at a time, each step taken from the budget
//	       (at once, when the frame is at most Eager and much is free)
//
// A small frame is copied into memory of its own, since a frame belongs to the
// broker once it is delivered: records alias it.
type arrival struct {
	src    gonet.Conn
	opt    *Options
	small  *budget
	large  *budget
	gone   <-chan struct{}      // the connection has ended elsewhere
	idle   func() time.Duration // how long the connection has been idle, beyond reading
	ended  func() bool          // nothing more is wanted
	lead   []byte
	r, w   int  // lead[r:w] has arrived and is not consumed
	armed  bool // there is a read deadline
	parted bool // and it is a frame's, not the idle one
}

// next gives the next frame, without its size prefix, and what it holds of the
// budgets. On an error the claim may hold bytes too.
func (a *arrival) next() (frame []byte, c claim, err error) {
	if a.w == a.r {
		a.r, a.w = 0, 0
		if err := a.await(); err != nil {
			return nil, c, err
		}
	}
	begun := time.Now()
	if err := a.fill(4, begun); err != nil {
		return nil, c, err
	}
	size := int32(binary.BigEndian.Uint32(a.lead[a.r:a.w]))
	if size < 8 { // there is no more to wait for
		return nil, c, fmt.Errorf("%w: %d bytes announced", errFrame, size)
	}
	if err := a.fill(8, begun); err != nil { // the key and the version too
		return nil, c, err
	}
	key, version, ok := door.Peek(a.lead[a.r+4 : a.w])
	if limit := door.FrameLimit(a.opt.Limits, key); !ok || size > limit {
		return nil, c, fmt.Errorf("%w: %d bytes announced for key %d version %d", errFrame, size, key, version)
	}
	if int(size)+4 <= len(a.lead) {
		frame, err = a.nextSmall(int(size), begun, &c)
	} else {
		frame, err = a.nextLarge(int(size), begun, &c)
	}
	return frame, c, err
}

// await waits for the first byte of a frame.
func (a *arrival) await() error {
	for {
		// The deadline may be left over from an earlier wait, and then wakes us too
		// early: it is set again only when it must be, not for each frame.
		if a.parted || !a.armed {
			if err := a.arm(time.Now().Add(a.opt.IdleAfter)); err != nil {
				return err
			}
			a.parted = false
		}
		n, err := a.src.Read(a.lead)
		a.w = n
		if n > 0 {
			return nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		rest := a.opt.IdleAfter - a.idle()
		if rest <= 0 {
			return errIdle
		}
		if err := a.arm(time.Now().Add(rest)); err != nil {
			return err
		}
	}
}

// arm sets the read deadline. Whoever ends a connection first says so and then
// sets a deadline that has passed; we set ours first and then look, so one of the
// two is seen whatever the order.
func (a *arrival) arm(t time.Time) error {
	a.armed = true
	_ = a.src.SetReadDeadline(t) // fails only on a closed connection, and then Read says so
	if a.ended() {
		return errDrained
	}
	return nil
}

// fill reads until the lead holds n bytes.
func (a *arrival) fill(n int, begun time.Time) error {
	if a.r+n > len(a.lead) {
		a.w = copy(a.lead, a.lead[a.r:a.w])
		a.r = 0
	}
	for a.w-a.r < n {
		got, err := a.read(a.lead[a.w:], a.w-a.r, begun)
		a.w += got
		if err != nil {
			return err
		}
	}
	return nil
}

// read reads a part of a frame of which `have` bytes have arrived.
func (a *arrival) read(p []byte, have int, begun time.Time) (int, error) {
	if err := a.arm(a.due(have, begun)); err != nil {
		return 0, err
	}
	a.parted = true
	n, err := a.src.Read(p)
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, errHalf
	}
	if n > 0 {
		err = nil // it comes again
	}
	return n, err
}

// due is when a frame's next byte must be here.
func (a *arrival) due(have int, begun time.Time) time.Time {
	return begun.Add(a.opt.StallAfter + time.Duration(int64(have)*int64(time.Second)/a.opt.MinRate))
}

func (a *arrival) nextSmall(size int, begun time.Time, c *claim) ([]byte, error) {
	if !a.small.take(c, int64(size), a.due(0, begun), a.gone) {
		return nil, errNoRoom
	}
	if err := a.fill(4+size, begun); err != nil {
		return nil, err
	}
	frame := make([]byte, size)
	copy(frame, a.lead[a.r+4:])
	a.r += 4 + size
	return frame, nil
}

func (a *arrival) nextLarge(size int, begun time.Time, c *claim) ([]byte, error) {
	room := size
	if size > a.opt.Eager || !a.large.takeHalf(c, int64(size)) {
		room = min(size, 4*len(a.lead))
		if !a.large.take(c, int64(room), a.due(0, begun), a.gone) {
			return nil, errNoRoom
		}
	}
	frame := make([]byte, room)
	have := copy(frame, a.lead[a.r+4:a.w])
	a.r, a.w = 0, 0
	for have < size {
		if have == len(frame) {
			room := min(size, 4*have)
			if !a.large.take(c, int64(room-have), a.due(have, begun), a.gone) {
				return nil, errNoRoom
			}
			grown := make([]byte, room)
			copy(grown, frame)
			frame = grown
		}
		got, err := a.read(frame[have:], have, begun)
		have += got
		if err != nil {
			return nil, err
		}
	}
	return frame, nil
}
