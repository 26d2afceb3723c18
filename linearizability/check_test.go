package linearizability

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// script writes a history by hand.
type script struct{ h History }

func (s *script) produce(process int64, ids ...uint64) int64 {
	return s.h.Invoke(Operation{Process: process, Op: Produce, Topic: "t", Sent: records(ids)})
}

func (s *script) idempotent(process int64, ids ...uint64) int64 {
	return s.h.Invoke(Operation{Process: process, Op: Produce, Topic: "t", Sent: records(ids), Idempotent: true})
}

func records(ids []uint64) []Record {
	var rs []Record
	for _, id := range ids {
		rs = append(rs, Record{ID: id, Sum: id * 7})
	}
	return rs
}

func (s *script) acked(invoke, base int64) {
	r := NoResult()
	r.Base = base
	s.h.Done(invoke, OK, r)
}

func (s *script) refused(invoke int64) { s.h.Done(invoke, Fail, NoResult()) }

func (s *script) lost(invoke int64) { s.h.Done(invoke, Unknown, NoResult()) }

// poll asks from an offset and is given offset:id pairs.
func (s *script) poll(process, from int64, pairs ...uint64) {
	s.polled(s.asked(process, from), pairs...)
}

func (s *script) asked(process, from int64) int64 {
	return s.h.Invoke(Operation{Process: process, Op: Poll, Topic: "t", Offset: from})
}

func (s *script) polled(invoke int64, pairs ...uint64) {
	r := NoResult()
	for i := 0; i < len(pairs); i += 2 {
		r.Records = append(r.Records, Record{Offset: int64(pairs[i]), ID: pairs[i+1], Sum: pairs[i+1] * 7})
	}
	s.h.Done(invoke, OK, r)
}

func (s *script) latest(process, end int64) {
	s.told(s.h.Invoke(Operation{Process: process, Op: Latest, Topic: "t"}), end)
}

func (s *script) told(invoke, end int64) {
	r := NoResult()
	r.End = end
	s.h.Done(invoke, OK, r)
}

func (s *script) delete(before int64) {
	s.h.Done(s.h.Invoke(Operation{Process: 99, Op: Delete, Topic: "t", Offset: before}), OK, NoResult())
}

func (s *script) put(process, base int64, ids ...uint64) { s.acked(s.produce(process, ids...), base) }

func TestEachAnomalyIsFoundByItsName(t *testing.T) {
	cases := []struct {
		name string
		kind Kind
		opt  Options
		text string // part of the report
		play func(s *script)
	}{
		{"a read passes over an acknowledged record", LostWrite, Options{}, "Record 2 was acknowledged here", func(s *script) {
			s.put(1, 0, 1)
			s.put(1, 1, 2)
			s.put(1, 2, 3)
			s.poll(2, 0, 0, 1, 2, 3)
		}},
		{"an acknowledged record was put elsewhere", LostWrite, Options{}, "it also stands at offset 2", func(s *script) {
			s.put(1, 0, 1)
			s.put(1, 1, 2)
			s.poll(2, 0, 0, 1, 2, 2)
		}},
		{"the final read ends too early", Unseen, Options{}, "final read", func(s *script) {
			s.put(1, 0, 1)
			s.put(1, 1, 2)
			s.h.Note(Final, "")
			s.poll(2, 0, 0, 1)
		}},
		{"two readers see two records at one offset", InconsistentOffsets, Options{}, "read of process 3 says 2", func(s *script) {
			s.lost(s.produce(1, 1))
			s.lost(s.produce(1, 2))
			s.poll(2, 0, 0, 1)
			s.poll(3, 0, 0, 2)
		}},
		{"another record stands where one was acknowledged", InconsistentOffsets, Options{}, "acknowledgement to process 1", func(s *script) {
			s.put(1, 0, 1)
			s.lost(s.produce(1, 2))
			s.poll(2, 0, 0, 2)
		}},
		{"two producers are told the same offset", InconsistentOffsets, Options{}, "acknowledgement to process 2", func(s *script) {
			s.put(1, 0, 1)
			s.put(2, 0, 2)
			s.poll(3, 0, 0, 1)
		}},
		{"an idempotent record stands there twice", Duplicate, Options{}, "again at 1", func(s *script) {
			s.acked(s.idempotent(1, 1), 0)
			s.poll(2, 0, 0, 1, 1, 1)
		}},
		{"a record sent twice stands there three times", Duplicate, Options{}, "2 time(s)", func(s *script) {
			r := NoResult()
			r.Base, r.Attempts = 0, 2
			s.h.Done(s.produce(1, 1), OK, r)
			s.poll(2, 0, 0, 1, 1, 1, 2, 1)
		}},
		{"a refused record is read", AbortedRead, Options{}, "was refused", func(s *script) {
			s.refused(s.produce(1, 1))
			s.poll(2, 0, 0, 1)
		}},
		{"a record of nobody is read", Phantom, Options{}, "nobody sent it", func(s *script) {
			s.poll(2, 0, 0, 77)
		}},
		{"a record is read before it is sent", Phantom, Options{}, "before it was sent", func(s *script) {
			s.poll(2, 0, 0, 1)
			s.put(1, 0, 1)
		}},
		{"a record comes back changed", Corrupt, Options{}, "checksum", func(s *script) {
			s.put(1, 0, 1)
			r := NoResult()
			r.Records = []Record{{Offset: 0, ID: 1, Sum: 1234}}
			s.h.Done(s.asked(2, 0), OK, r)
		}},
		{"two readers see one record with two contents", Corrupt, Options{}, "checksum", func(s *script) {
			s.h.Done(s.h.Invoke(Operation{Process: 1, Op: Produce, Topic: "t", Sent: []Record{{ID: 1}}}), Unknown, NoResult())
			for sum := uint64(1); sum <= 2; sum++ {
				r := NoResult()
				r.Records = []Record{{Offset: 0, ID: 1, Sum: sum}}
				s.h.Done(s.asked(2, 0), OK, r)
			}
		}},
		{"half of a batch is in the log", TornBatch, Options{}, "in one batch with 2", func(s *script) {
			s.lost(s.produce(1, 1, 2))
			s.put(2, 1, 3)
			s.poll(3, 0, 0, 1, 1, 3)
		}},
		{"a later append gets a lower offset", NotLinearizable, Options{}, "has to come before it", func(s *script) {
			s.put(1, 1, 1)
			s.put(2, 0, 2)
			s.poll(3, 0, 0, 2, 1, 1)
		}},
		{"the end is read without an acknowledged append", NotLinearizable, Options{}, "a read of the end 0", func(s *script) {
			s.put(1, 0, 1)
			s.latest(2, 0)
			s.poll(3, 0, 0, 1)
		}},
		{"the end goes back", NotLinearizable, Options{}, "a read of the end 0", func(s *script) {
			s.lost(s.produce(1, 1))
			s.latest(2, 1)
			s.latest(2, 0)
			s.poll(3, 0, 0, 1)
		}},
		{"the end is read beyond an append that begins later", NotLinearizable, Options{}, "a read of the end 1", func(s *script) {
			s.latest(2, 1)
			s.put(1, 0, 1)
			s.poll(3, 0, 0, 1)
		}},
		{"the end lies inside a batch", NotLinearizable, Options{}, "inside the batch", func(s *script) {
			w := s.produce(1, 1, 2)
			s.latest(2, 1)
			s.acked(w, 0)
			s.poll(3, 0, 0, 1, 1, 2)
		}},
		{"a record was read and then lies behind the end", NotLinearizable, Options{}, "was read, and later", func(s *script) {
			s.lost(s.produce(1, 1))
			s.poll(3, 0, 0, 1)
			s.latest(2, 0)
		}},
		{"a watermark goes back on a single node", NotLinearizable, Options{FetchEnds: true}, "told the watermark 0", func(s *script) {
			s.put(1, 0, 1)
			r := NoResult()
			r.End = 0
			s.h.Done(s.asked(2, 0), OK, r)
			s.poll(3, 0, 0, 1)
		}},
		{"an idempotent producer's batches are swapped", NonmonotonicSend, Options{}, "after record 1", func(s *script) {
			a, b := s.idempotent(1, 1), s.idempotent(1, 2)
			s.acked(b, 0)
			s.acked(a, 1)
			s.poll(2, 0, 0, 2, 1, 1)
		}},
		{"a plain producer's second batch comes before its first", NonmonotonicSend, Options{}, "after record 1", func(s *script) {
			s.put(1, 1, 1)
			s.put(1, 0, 2)
			s.poll(2, 0, 0, 2, 1, 1)
		}},
		{"an answer goes back within itself", NonmonotonicPoll, Options{}, "record 2 of 2", func(s *script) {
			s.put(1, 0, 1, 2)
			s.poll(2, 0, 1, 2, 0, 1)
			s.poll(2, 0, 0, 1, 1, 2)
		}},
		{"an answer begins before the offset asked for", NonmonotonicPoll, Options{}, "from offset 1 and was given 0", func(s *script) {
			s.put(1, 0, 1, 2)
			s.poll(2, 1, 0, 1, 1, 2)
		}},
		{"a consumer is given a record again", NonmonotonicPoll, Options{}, "from offset 2 and was given 1", func(s *script) {
			s.put(1, 0, 1, 2)
			s.poll(2, -1, 0, 1, 1, 2)
			s.poll(2, -1, 1, 2)
		}},
		{"an answer leaves out what another one holds", PollSkip, Options{}, "record 2 at offset 1", func(s *script) {
			s.put(1, 0, 1, 2, 3)
			s.poll(2, 0, 0, 1, 1, 2, 2, 3)
			s.poll(3, 0, 0, 1, 2, 3)
		}},
		{"a consumer jumps between two answers", PollSkip, Options{}, "record 2 at offset 1", func(s *script) {
			s.put(1, 0, 1, 2, 3)
			s.poll(2, 0, 0, 1, 1, 2, 2, 3)
			s.poll(3, -1, 0, 1)
			s.poll(3, -1, 2, 3)
		}},
		{"the log's start moves for no reason", StartMoved, Options{}, "said to start at 1", func(s *script) {
			s.put(1, 0, 1, 2)
			r := NoResult()
			r.Start, r.Records = 1, []Record{{Offset: 1, ID: 2}}
			s.h.Done(s.asked(2, 1), OK, r)
			s.poll(2, 0, 0, 1, 1, 2)
		}},
		{"a relaxed topic loses a record without a loss of power", LostWrite, Options{Relaxed: func(string) bool { return true }}, "Record 1", func(s *script) {
			s.h.Note(PowerLoss, "")
			s.put(1, 0, 1)
			s.put(1, 1, 2)
			s.poll(2, 0, 1, 2)
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var s script
			c.play(&s)
			v := Check(&s.h, c.opt)
			require.True(t, v.Has(c.kind), "want %s, the report says:\n%s", c.kind, v.String())
			require.Equal(t, Violated, v.Judgement())
			require.Contains(t, v.String(), c.text)
			require.Contains(t, v.String(), c.kind.Promise())
			for _, a := range v.Anomalies {
				if a.Kind == c.kind {
					require.NotEmpty(t, a.Evidence)
				}
			}
		})
	}
}

func TestWhatThePromisesAllowIsNoAnomaly(t *testing.T) {
	cases := []struct {
		name string
		opt  Options
		play func(s *script)
	}{
		{"concurrent appends in either order", Options{}, func(s *script) {
			a, b := s.produce(1, 1), s.produce(2, 2)
			s.acked(a, 1)
			s.acked(b, 0)
			s.poll(3, 0, 0, 2, 1, 1)
		}},
		{"a plain producer with two in flight may be reordered", Options{}, func(s *script) {
			a, b := s.produce(1, 1), s.produce(1, 2)
			s.acked(b, 0)
			s.acked(a, 1)
			s.poll(2, 0, 0, 2, 1, 1)
		}},
		{"a timed out append shows up late or never", Options{}, func(s *script) {
			s.lost(s.produce(1, 1))
			s.lost(s.produce(1, 2))
			s.latest(2, 0)
			s.put(2, 0, 3)
			s.poll(3, 0, 0, 3, 1, 1)
		}},
		{"a plain record sent three times stands there three times", Options{}, func(s *script) {
			r := NoResult()
			r.Base, r.Attempts = 2, 3
			s.h.Done(s.produce(1, 1), OK, r)
			s.poll(2, 0, 0, 1, 1, 1, 2, 1)
		}},
		{"acks=1 may be lost and its offset used again", Options{}, func(s *script) {
			s.acked(s.h.Invoke(Operation{Process: 1, Op: Produce, Topic: "t", Acks: AcksOne, Sent: records([]uint64{1})}), 0)
			s.put(2, 0, 2)
			s.poll(3, 0, 0, 2)
		}},
		{"deleted records are not lost", Options{}, func(s *script) {
			s.put(1, 0, 1, 2, 3)
			s.delete(2)
			s.poll(2, 2, 2, 3)
			s.poll(3, -1, 2, 3)
		}},
		{"retention moves the start of a topic that may expire", Options{Expires: func(string) bool { return true }}, func(s *script) {
			s.put(1, 0, 1, 2, 3)
			r := NoResult()
			r.Start, r.Records = 2, []Record{{Offset: 2, ID: 3}}
			s.h.Done(s.asked(2, 2), OK, r)
		}},
		{"a consumer that chooses a new position goes back", Options{}, func(s *script) {
			s.put(1, 0, 1, 2)
			s.poll(2, -1, 0, 1, 1, 2)
			s.h.Invoke(Operation{Process: 2, Op: Assign, Topic: "t"})
			s.poll(2, -1, 0, 1, 1, 2)
		}},
		{"somebody else's records and markers lie between", Options{}, func(s *script) {
			s.put(1, 0, 1)
			s.latest(2, 4)
			s.put(1, 5, 2)
			s.poll(2, 0, 0, 1, 3, 0, 5, 2)
		}},
		{"a relaxed topic loses its tail with the power", Options{Relaxed: func(string) bool { return true }}, func(s *script) {
			s.put(1, 0, 1)
			s.put(1, 1, 2)
			s.poll(2, 0, 0, 1, 1, 2)
			s.h.Note(PowerLoss, "")
			s.put(1, 1, 3)
			s.latest(2, 2)
			s.poll(2, 0, 0, 1, 1, 3)
		}},
		{"a watermark may be old when followers answer", Options{}, func(s *script) {
			s.put(1, 0, 1)
			r := NoResult()
			r.End = 0
			s.h.Done(s.asked(2, 0), OK, r)
			s.poll(2, 0, 0, 1)
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var s script
			c.play(&s)
			s.h.Note(Final, "")
			v := Check(&s.h, c.opt)
			require.Equal(t, Holds, v.Judgement(), v.String())
			w := CheckWindows(&s.h, c.opt, drawLimit)
			require.Equal(t, Holds, w.Judgement(), w.String())
		})
	}
}

func TestUnknownIsNeverAPass(t *testing.T) {
	var empty History
	v := Check(&empty, Options{})
	require.Equal(t, Undecided, v.Judgement())

	var s script
	s.put(1, 0, 1)
	s.put(1, 1, 2)
	s.poll(2, 0, 0, 1)
	v = Check(&s.h, Options{})
	require.Equal(t, Undecided, v.Judgement())
	require.Contains(t, v.String(), "1 acknowledged record(s), at offsets 1 to 1, were never read")
	require.True(t, strings.HasSuffix(v.String(), "UNKNOWN: 3 operations on 1 partitions, 2 records acknowledged, 1 read, 0 reads of the end\n"), v.String())
}
