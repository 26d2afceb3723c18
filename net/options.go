package net

import (
	"log/slog"
	"time"

	"github.com/orrery-log/orrery/core/door"
	"github.com/orrery-log/orrery/core/env"
)

// Options are the limits of a Server. All must be set; DefaultOptions gives a
// production broker's.
type Options struct {
	Limits door.Limits

	MaxConns     int           // a connection beyond them is closed at once
	MaxPipelined int           // unanswered requests of a connection; then it is not read
	IdleAfter    time.Duration // without a frame, an answer or an open request (connections.max.idle.ms)

	// A frame that has begun, and an answer that is being written, must be through
	// after StallAfter plus the time that their bytes so far take at MinRate.
	// So a drip of single bytes holds nothing for long, and a large frame on a
	// slow line goes through.
	StallAfter time.Duration
	MinRate    int64 // bytes a second

	Lead       int   // bytes of a connection's read buffer; frames up to this are small
	SmallBytes int64 // all small frames in hand
	LargeBytes int64 // all other frames in hand
	Eager      int   // a frame up to this is given its memory at once while half of LargeBytes is free
	WriteBytes int   // answers are gathered into writes of about this

	// Socket buffers; 0 leaves them to the system, which sizes them by need.
	SendBuffer, ReceiveBuffer int

	// Polls tells the APIs whose answer may wait for something to happen, and which
	// a client simply asks again: a drain does not wait for them. Nil: there are none.
	Polls func(key int16) bool
	// Mono is the clock of Reply.MuteUntil.
	Mono func() env.Time
	// Sink takes the events. It may block, and must not call the Server.
	Sink func(env.Event)
	// Served is told the time from a request's last byte to its answer's last
	// byte; nil: nobody wants to know.
	Served func(key int16, took time.Duration)
	Log    *slog.Logger
}

// DefaultOptions lack only Limits, Mono and Sink.
func DefaultOptions() Options {
	const kib, mib = 1 << 10, 1 << 20
	return Options{
		MaxConns: 10_000, MaxPipelined: 64, IdleAfter: 10 * time.Minute,
		StallAfter: 30 * time.Second, MinRate: 16 * kib,
		Lead: 4 * kib, SmallBytes: 64 * mib, LargeBytes: 128 * mib, Eager: 16 * mib, WriteBytes: 256 * kib,
		Log: slog.New(slog.DiscardHandler),
	}
}
