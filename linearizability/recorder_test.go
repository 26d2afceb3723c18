package linearizability

import (
	"bytes"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Clients side by side on a log behind a lock: whatever order the recorder saw,
// the history holds, and so does its file.
func TestARecorderTakesClientsSideBySide(t *testing.T) {
	var (
		rec Recorder
		log struct {
			sync.Mutex
			records []Record
		}
		clients sync.WaitGroup
	)
	for process := range int64(8) {
		clients.Go(func() {
			for n := range uint64(50) {
				id := uint64(process)<<32 | (n + 1)
				at := rec.Invoke(Operation{Process: process, Op: Produce, Topic: "t", Sent: []Record{{ID: id, Sum: id}}, Idempotent: true})
				log.Lock()
				r := NoResult()
				r.Base = int64(len(log.records))
				log.records = append(log.records, Record{ID: id, Offset: r.Base, Sum: id})
				log.Unlock()
				rec.Done(at, OK, r)

				at = rec.Invoke(Operation{Process: 100 + process, Op: Poll, Topic: "t", Offset: r.Base})
				log.Lock()
				seen := NoResult()
				seen.Records, seen.End = append(seen.Records, log.records[r.Base:]...), int64(len(log.records))
				log.Unlock()
				rec.Done(at, OK, seen)
			}
		})
	}
	clients.Wait()
	rec.Note(Final, "")
	at := rec.Invoke(Operation{Process: 200, Op: Poll, Topic: "t"})
	r := NoResult()
	r.Records = log.records
	rec.Done(at, OK, r)

	v := Check(rec.History(), Options{FetchEnds: true})
	require.Equal(t, Holds, v.Judgement(), v.String())
	require.Equal(t, 400, v.Acknowledged)
	w := CheckWindows(rec.History(), Options{FetchEnds: true}, drawLimit)
	require.Equal(t, Holds, w.Judgement(), w.String())
	var file bytes.Buffer
	require.NoError(t, rec.Write(&file))
	h, err := Read(&file)
	require.NoError(t, err)
	again := Check(h, Options{FetchEnds: true})
	require.Equal(t, v.String(), again.String())
}
