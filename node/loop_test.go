package node

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/broker"
	"github.com/orrery-log/orrery/core/env"
)

// paper is a disk that confirms what it is given, until it fails.
type paper struct {
	pieces []env.Survived
	events chan env.Event
	failed chan error
}

func (p *paper) Survived() (env.Survived, error) {
	if len(p.pieces) == 0 {
		return env.Survived{}, errors.New("there is no further piece")
	}
	piece := p.pieces[0]
	p.pieces = p.pieces[1:]
	return piece, nil
}

func (p *paper) Act(out *env.Outbox) {
	if n := len(out.Journal); n > 0 {
		seq := out.Journal[n-1].Seq
		p.events <- env.Journaled{Written: seq, Synced: seq}
	}
}

func (p *paper) Events() <-chan env.Event { return p.events }
func (p *paper) Failed() <-chan error     { return p.failed }

func onPaper(t *testing.T) (l *loop, p *paper, ready chan struct{}, replies chan env.Reply) {
	t.Helper()
	s := settings(t, t.TempDir())
	p = &paper{pieces: []env.Survived{{}, {}, {Last: true}}, events: make(chan env.Event, 100), failed: make(chan error, 1)}
	ready, replies = make(chan struct{}), make(chan env.Reply, 100)
	l = &loop{
		log: slog.New(slog.DiscardHandler), began: time.Now(), disk: p, queue: newQueue(10), metrics: newObserved(),
		jobs: newJobs(), stop: make(chan struct{}), onReady: func() { close(ready) }, reply: func(r env.Reply) { replies <- r },
	}
	l.broker = broker.New(s.brokerConfig(1<<40), l.now())
	return l, p, ready, replies
}

func TestLoopFeedsEachPieceAndAnswers(t *testing.T) {
	l, p, ready, replies := onPaper(t)
	ended := make(chan error)
	go func() { ended <- l.run() }()
	<-ready
	require.Empty(t, p.pieces)
	l.queue.put(env.Opened{Conn: 1, Listener: "PLAINTEXT"})
	req := kmsg.NewPtrApiVersionsRequest()
	l.queue.put(env.Request{Conn: 1, N: 1, Body: req})
	require.EqualValues(t, 1, (<-replies).N)
	l.end()
	l.end()
	require.NoError(t, <-ended)
}

func TestFailedDiskEndsTheLoopWithAWordOnIt(t *testing.T) {
	l, p, ready, _ := onPaper(t)
	ended := make(chan error)
	go func() { ended <- l.run() }()
	<-ready
	p.failed <- errors.New("write: input/output error")
	require.EqualError(t, <-ended, "the disk failed, and what it has written is in doubt; start again when it works: write: input/output error")
}

func TestUnreadableDataDirectoryEndsTheStart(t *testing.T) {
	l, p, _, _ := onPaper(t)
	p.pieces = p.pieces[:1]
	require.EqualError(t, l.run(), "the data directory can not be read: there is no further piece")
}

func TestStoppedLoopIsSeenNotToTurn(t *testing.T) {
	l, _, ready, _ := onPaper(t)
	ended := make(chan error)
	go func() { ended <- l.run() }()
	<-ready
	require.True(t, l.turns())
	l.end()
	require.NoError(t, <-ended)
	require.False(t, l.turns())
}

func TestStopIsHeardBetweenPiecesOfRecovery(t *testing.T) {
	l, p, _, _ := onPaper(t)
	l.end()
	require.NoError(t, l.run())
	require.Len(t, p.pieces, 2, "what was not fed")
}
