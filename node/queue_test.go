package node

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
)

func TestCompletionsComeFirstAndNeverWait(t *testing.T) {
	q := newQueue(2)
	q.put(env.Opened{Conn: 1})
	q.put(env.Request{Conn: 1, N: 1})
	q.put(env.Sent{Conn: 1, N: 1}) // the queue is full of requests, and this does not wait
	q.complete(env.Done{Job: 1})
	<-q.wake
	require.Equal(t, []env.Event{env.Sent{Conn: 1, N: 1}, env.Done{Job: 1}, env.Opened{Conn: 1}, env.Request{Conn: 1, N: 1}}, q.take(nil))
	require.Empty(t, q.take(nil))
}

func TestFullQueueMakesReadersWaitUntilItIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1)
		q.put(env.Hangup{Conn: 1})
		put := false
		go func() {
			q.put(env.Hangup{Conn: 2})
			put = true
		}()
		synctest.Wait()
		require.False(t, put)
		require.Len(t, q.take(nil), 1)
		synctest.Wait()
		require.True(t, put)
		<-q.wake
		require.Equal(t, []env.Event{env.Hangup{Conn: 2}}, q.take(nil))
	})
}

func TestClosedQueueDropsRequestsAndNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1)
		q.put(env.Hangup{Conn: 1})
		go q.put(env.Hangup{Conn: 2})
		synctest.Wait()
		q.close()
		synctest.Wait()
		require.Len(t, q.take(nil), 1)
		q.put(env.Hangup{Conn: 3})
		require.Empty(t, q.take(nil))
	})
}
