package linearizability

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func drawnWorld(t *rapid.T, steps int) *world {
	w := newWorld(rapid.IntRange(1, 8).Draw(t, "clients"), func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "d") })
	w.run(steps)
	return w
}

func TestAHistoryOfACorrectLogHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawnWorld(t, 120).finish()
		for _, opt := range []Options{{}, {FetchEnds: true}} {
			if v := Check(h, opt); len(h.ops) > 0 && v.Judgement() == Violated {
				t.Fatalf("a correct log is accused:\n%s", v.String())
			}
			if v := checkWindows(h, opt, time.Minute, 7); v.Judgement() != Holds {
				t.Fatalf("porcupine accuses a correct log:\n%s", v.String())
			}
		}
	})
}

// faults break a history of a correct log in one place; false: nothing there to break.
var faults = map[Kind]func(w *world, at int) bool{
	LostWrite: func(w *world, at int) bool {
		r, ok := w.ackedRecord(at)
		if !ok || r.Offset == int64(len(w.log))-1 {
			return false
		}
		w.rewritePolls(func(rs []Record) []Record {
			return slices.DeleteFunc(rs, func(x Record) bool { return x.ID == r.ID })
		})
		return true
	},
	Unseen: func(w *world, _ int) bool {
		r, ok := w.ackedRecord(len(w.log) - 1)
		if !ok || r.Offset != int64(len(w.log))-1 {
			return false
		}
		w.rewritePolls(func(rs []Record) []Record {
			return slices.DeleteFunc(rs, func(x Record) bool { return x.ID == r.ID })
		})
		return true
	},
	InconsistentOffsets: func(w *world, at int) bool {
		if len(w.log) < 2 {
			return false
		}
		i := at % (len(w.log) - 1)
		w.answer(Record{ID: w.log[i].ID, Offset: w.log[i+1].Offset})
		return true
	},
	Corrupt: func(w *world, at int) bool {
		if len(w.log) == 0 {
			return false
		}
		r := w.log[at%len(w.log)]
		r.Sum++
		w.answer(r)
		return true
	},
	Duplicate: func(w *world, at int) bool {
		if len(w.log) == 0 {
			return false
		}
		w.answer(Record{ID: w.log[at%len(w.log)].ID, Offset: int64(len(w.log))})
		return true
	},
	Phantom: func(w *world, _ int) bool {
		w.answer(Record{ID: 1 << 40, Offset: int64(len(w.log))})
		return true
	},
	AbortedRead: func(w *world, at int) bool {
		for i := range w.h.ops {
			if o := &w.h.ops[(i+at)%len(w.h.ops)]; o.Op == Produce && o.Outcome == Fail {
				w.answer(Record{ID: o.Sent[0].ID, Offset: int64(len(w.log))})
				return true
			}
		}
		return false
	},
	NotLinearizable: func(w *world, at int) bool {
		r, ok := w.ackedRecord(at)
		if !ok {
			return false
		}
		res := NoResult()
		res.End = r.Offset
		w.h.Done(w.h.Invoke(Operation{Process: 6000, Op: Latest, Topic: "t"}), OK, res)
		return true
	},
	NonmonotonicPoll: func(w *world, at int) bool {
		if len(w.log) < 2 {
			return false
		}
		i := at % (len(w.log) - 1)
		w.answer(w.log[i+1], w.log[i])
		return true
	},
	PollSkip: func(w *world, at int) bool {
		if len(w.log) < 3 {
			return false
		}
		i := at % (len(w.log) - 2)
		w.answer(w.log[i], w.log[i+2])
		return true
	},
	NonmonotonicSend: func(w *world, _ int) bool {
		r := NoResult()
		for _, base := range []int{1, 0} {
			w.nextID++
			r.Base = int64(len(w.log) + base)
			o := Operation{Process: 6000, Op: Produce, Topic: "t", Sent: []Record{{ID: w.nextID}}, Idempotent: true}
			w.h.Done(w.h.Invoke(o), OK, r)
		}
		return true
	},
	StartMoved: func(w *world, _ int) bool {
		r := NoResult()
		r.Start = 1
		w.h.Done(w.h.Invoke(Operation{Process: 6000, Op: Poll, Topic: "t"}), OK, r)
		return true
	},
	TornBatch: func(w *world, _ int) bool {
		w.nextID += 2
		o := Operation{Process: 6000, Op: Produce, Topic: "t", Sent: []Record{{ID: w.nextID - 1}, {ID: w.nextID}}}
		w.h.Invoke(o)
		w.answer(Record{ID: w.nextID, Offset: int64(len(w.log)) + 1}, Record{Offset: int64(len(w.log)) + 2})
		w.answer(Record{Offset: int64(len(w.log))})
		return true
	},
}

// ackedRecord is a record of the log, at or after a place, that was acknowledged.
func (w *world) ackedRecord(at int) (Record, bool) {
	for i := range w.log {
		r := w.log[(i+max(at, 0))%len(w.log)]
		for j := range w.h.ops {
			if o := &w.h.ops[j]; acknowledged(o) && o.Result.Base <= r.Offset && r.Offset < o.Result.Base+int64(len(o.Sent)) {
				return r, true
			}
		}
	}
	return Record{}, false
}

func (w *world) rewritePolls(f func([]Record) []Record) {
	for i := range w.h.ops {
		if o := &w.h.ops[i]; o.Op == Poll {
			o.Result.Records = f(o.Result.Records)
		}
	}
}

// answer is one more poll, that was told to go on where its records begin.
func (w *world) answer(rs ...Record) {
	r := NoResult()
	r.Records = rs
	w.h.Done(w.h.Invoke(Operation{Process: 6000, Op: Poll, Topic: "t", Offset: rs[0].Offset}), OK, r)
}

func TestEachPlantedFaultIsFoundInAnyHistory(t *testing.T) {
	for kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			planted := 0
			rapid.Check(t, func(t *rapid.T) {
				w := drawnWorld(t, 80)
				h := w.finish()
				if !faults[kind](w, rapid.IntRange(0, 1000).Draw(t, "at")) {
					return
				}
				planted++
				if v := Check(h, Options{}); !v.Has(kind) {
					t.Fatalf("%s was planted, the report says:\n%s", kind, v.String())
				}
			})
			require.Positive(t, planted, "no history had a place for the fault")
		})
	}
}

// The sweep and porcupine must agree on what is linearizable, on histories that
// are and on such that are not.
func TestTheSweepAndPorcupineAgree(t *testing.T) {
	illegal, legal := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawnWorld(t, 150)
		w.h.ops = slices.DeleteFunc(w.h.ops, func(o Operation) bool { return o.Op == Poll })
		h := w.finish()
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			if len(h.ops) == 0 {
				return
			}
			o := &h.ops[rapid.IntRange(0, len(h.ops)-1).Draw(t, "op")]
			if o.Op == Latest && o.Outcome == OK {
				o.Result.End = rapid.Int64Range(0, int64(len(w.log))).Draw(t, "end")
			}
		}
		v, p := Check(h, Options{}), checkWindows(h, Options{}, time.Minute, rapid.IntRange(1, 20).Draw(t, "size"))
		if v.Has(NotLinearizable) != p.Has(NotLinearizable) {
			t.Fatalf("the sweep:\n%s\nporcupine:\n%s", v.String(), p.String())
		}
		if v.Has(NotLinearizable) {
			illegal++
		} else {
			legal++
		}
	})
	require.Positive(t, illegal)
	require.Positive(t, legal)
}

func TestAHistorySurvivesItsFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawnWorld(t, 60)
		w.h.Note(PowerLoss, "all nodes")
		h := w.finish()
		var file bytes.Buffer
		require.NoError(t, h.Write(&file))
		got, err := Read(bytes.NewReader(file.Bytes()))
		require.NoError(t, err)
		require.Equal(t, h.last, got.last)
		require.Equal(t, h.notes, got.notes)
		require.Len(t, got.ops, len(h.ops))
		for i := range h.ops {
			require.Equal(t, h.ops[i].String(), got.ops[i].String())
		}
		v, g := Check(h, Options{}), Check(got, Options{})
		require.Equal(t, v.String(), g.String())
		var again bytes.Buffer
		require.NoError(t, got.Write(&again))
		require.Equal(t, file.String(), again.String())
	})
}

// bigWorld has 100,000 operations of 20 clients on one partition.
func bigWorld() *History {
	rng := rand.New(rand.NewPCG(1, 2))
	w := newWorld(20, rng.IntN)
	w.run(320_000)
	return w.finish()
}

func TestAHundredThousandOperationsTakeWellUnderASecond(t *testing.T) {
	h := bigWorld()
	require.Greater(t, len(h.ops), 100_000)
	began := time.Now()
	v := Check(h, Options{FetchEnds: true})
	took := time.Since(began)
	require.Equal(t, Holds, v.Judgement(), v.String())
	began = time.Now()
	p := CheckWindows(h, Options{FetchEnds: true}, time.Minute)
	t.Logf("%d operations: passes %v, porcupine %v", len(h.ops), took, time.Since(began))
	require.Equal(t, Holds, p.Judgement(), p.String())
	require.Less(t, took, 3*time.Second, "far above the expected 0.2 s, even on a busy machine")
}

func BenchmarkCheck(b *testing.B) {
	h := bigWorld()
	b.ReportAllocs()
	for b.Loop() {
		Check(h, Options{FetchEnds: true})
	}
}
