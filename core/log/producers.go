package log

import (
	"math"
	"slices"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/journal"
	"github.com/orrery-log/orrery/core/record"
)

// producer is what a log remembers of an idempotent producer, as Kafka's
// ProducerStateEntry does.
type producer struct {
	epoch  int16
	wall   int64   // when its last batch was appended, ms by Wall
	window []wrote // its last batches of this epoch, oldest first
}

// wrote is one batch of a producer.
type wrote struct {
	sequence int32 // of its last record
	delta    int32 // records but one
	last     int64 // offset of its last record
	time     int64 // its largest timestamp
}

// first is the sequence of its first record; 0 is preceded by 2^31-1.
func (w *wrote) first() int32 { return (w.sequence - w.delta) & math.MaxInt32 }

// Kafka's error codes that a producer's batch can meet.
const (
	outOfOrderSequence   int16 = 45
	invalidProducerEpoch int16 = 47
	kafkaStorageError    int16 = 56
)

// Verdict is what Check found.
type Verdict struct {
	Code int16 // 0, or the Kafka error that refuses the batch
	// Duplicate: the log has this batch already, at Base to End; it is answered
	// as the original was, when the original's end is durable.
	Duplicate bool
	Base, End int64
	Time      int64 // of a duplicate: the largest timestamp of the original
}

// Check tells whether the batch of an idempotent producer may be appended now.
// It changes nothing.
func (l *Log) Check(b record.Batch, wallMs int64) Verdict {
	if code := l.RefusesAppends(); code != 0 {
		return Verdict{Code: code}
	}
	if !b.Idempotent() {
		return Verdict{}
	}
	p, known := l.producer(b.ProducerID(), wallMs)
	if !known {
		return Verdict{} // any sequence may be a producer's first here: its records may have expired (KIP-360)
	}
	for i := range p.window {
		if sameBatch(&p, &p.window[i], b) {
			w := &p.window[i]
			return Verdict{Duplicate: true, Base: w.last - int64(w.delta), End: w.last + 1, Time: w.time}
		}
	}
	switch {
	case b.ProducerEpoch() < p.epoch:
		return Verdict{Code: invalidProducerEpoch}
	case b.ProducerEpoch() > p.epoch && b.BaseSequence() != 0:
		return Verdict{Code: outOfOrderSequence} // a new epoch begins at sequence 0
	case b.ProducerEpoch() == p.epoch && !inSequence(&p, b):
		return Verdict{Code: outOfOrderSequence}
	}
	return Verdict{}
}

// sameBatch: a batch is a duplicate only of one with the same epoch and the
// same sequences, first and last. Without the epoch the first batch after a bump
// would be taken for the first one before it, and be lost.
func sameBatch(p *producer, w *wrote, b record.Batch) bool {
	return p.epoch == b.ProducerEpoch() && w.first() == b.BaseSequence() && w.sequence == b.LastSequence()
}

// inSequence: the batch begins where the last one ended; 2^31-1 is followed by 0.
func inSequence(p *producer, b record.Batch) bool {
	last := int32(-1) // nothing in this epoch yet, only a marker
	if n := len(p.window); n > 0 {
		last = p.window[n-1].sequence
	}
	return b.BaseSequence() == record.AddSequence(last, 1)
}

// producer looks one up; one that has expired by wallMs is unknown.
func (l *Log) producer(id int64, wallMs int64) (producer, bool) {
	p, known := l.producers[id]
	return p, known && !l.expired(&p, wallMs)
}

func (l *Log) expired(p *producer, wallMs int64) bool {
	return wallMs-p.wall >= int64(l.s.ProducerExpiry/env.Millisecond)
}

func (l *Log) producerIsFresh(h *journal.Records) bool {
	if h.ProducerID < 0 {
		return false
	}
	_, known := l.producer(h.ProducerID, h.Wall)
	return !known
}

// learnProducer takes a batch into its producer's window.
func (l *Log) learnProducer(h *journal.Records) {
	if l.producers == nil {
		l.producers = make(map[int64]producer)
	}
	p := l.producers[h.ProducerID]
	if h.Fresh || p.epoch != h.ProducerEpoch {
		p = producer{epoch: h.ProducerEpoch, window: p.window[:0]}
	}
	p.wall = h.Wall
	if h.Sequence < 0 { // a control batch: it ends the sequences of its epoch, and has none
		l.producers[h.ProducerID] = p
		return
	}
	delta := int32(h.Last - h.Base)
	w := wrote{sequence: record.AddSequence(h.Sequence, delta), delta: delta, last: h.Last, time: h.MaxTime}
	if len(p.window) >= l.window {
		copy(p.window, p.window[1:])
		p.window[len(p.window)-1] = w
	} else {
		p.window = append(p.window, w)
	}
	l.producers[h.ProducerID] = p
}

// ExpireProducers forgets the producers that have written nothing for Settings' expiry.
func (l *Log) ExpireProducers(wallMs int64) {
	for id, p := range l.producers { //purity:ordered each is judged alone
		if l.expired(&p, wallMs) {
			delete(l.producers, id)
		}
	}
}

// ProducerState is one producer as DescribeProducers shows it.
type ProducerState struct {
	ID           int64
	Epoch        int16
	LastSequence int32
	LastTime     int64
}

// Producers lists the producers by id.
func (l *Log) Producers() []ProducerState {
	var list []ProducerState
	for _, id := range l.producerIDs() {
		p := l.producers[id]
		s := ProducerState{ID: id, Epoch: p.epoch, LastSequence: -1, LastTime: -1}
		if n := len(p.window); n > 0 {
			s.LastSequence, s.LastTime = p.window[n-1].sequence, p.window[n-1].time
		}
		list = append(list, s)
	}
	return list
}

func (l *Log) producerIDs() []int64 {
	ids := make([]int64, 0, len(l.producers))
	for id := range l.producers { //purity:ordered sorted below
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
