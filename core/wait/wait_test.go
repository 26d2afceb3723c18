package wait

import (
	"sort"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orrery-log/orrery/core/env"
)

func TestQueueGivesBackInOrderWhatWasReached(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue[int64, int]
		var model []int64 // keys; the value is the place in the order of pushes
		pushed, popped, last := 0, 0, int64(0)
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "push") {
				last += int64(rapid.IntRange(0, 3).Draw(t, "rise"))
				q.Push(last, pushed)
				model = append(model, last)
				pushed++
				continue
			}
			upto := last - int64(rapid.IntRange(0, 5).Draw(t, "behind"))
			v, ok := q.Pop(upto)
			require.Equal(t, popped < pushed && model[popped] <= upto, ok)
			if ok {
				require.Equal(t, popped, v)
				popped++
			}
			require.Equal(t, pushed-popped, q.Len())
		}
		for {
			v, ok := q.Drain()
			if !ok {
				break
			}
			require.Equal(t, popped, v)
			popped++
		}
		require.Equal(t, pushed, popped)
	})
}

func TestQueueRefusesAFallingKey(t *testing.T) {
	var q Queue[int64, int]
	q.Push(5, 0)
	require.Panics(t, func() { q.Push(4, 1) })
}

func TestTimersComeByDeadlineThenInTheOrderGiven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type one struct {
			at env.Time
			id int
		}
		var timers Timers[int]
		var model []one
		for i := range rapid.IntRange(0, 60).Draw(t, "n") {
			at := env.Time(rapid.IntRange(0, 8).Draw(t, "at"))
			timers.Add(at, i)
			model = append(model, one{at, i})
		}
		cancelled := map[int]bool{}
		for i := range model {
			if rapid.Bool().Draw(t, "cancel") {
				cancelled[i] = true
				timers.Cancelled()
			}
		}
		if rapid.Bool().Draw(t, "sweep") {
			timers.Sweep(func(id int) bool { return !cancelled[id] })
			live := model[:0]
			for _, m := range model {
				if !cancelled[m.id] {
					live = append(live, m)
				}
			}
			model = live
		}
		sort.SliceStable(model, func(i, j int) bool { return model[i].at < model[j].at })
		for _, m := range model {
			require.Equal(t, m.at, timers.Next())
			_, early := timers.Pop(m.at - 1)
			require.False(t, early)
			id, ok := timers.Pop(m.at)
			require.True(t, ok)
			require.Equal(t, m.id, id)
		}
		require.Equal(t, Never, timers.Next())
	})
}

func TestInsertKeepsTheOrderOfKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue[int64, int64]
		keys := rapid.SliceOf(rapid.Int64Range(0, 20)).Draw(t, "keys")
		for i, k := range keys {
			q.Insert(k, k)
			if i%5 == 4 {
				q.Pop(3)
			}
		}
		last := int64(-1)
		for v, ok := q.Drain(); ok; v, ok = q.Drain() {
			require.GreaterOrEqual(t, v, last)
			last = v
		}
	})
}
