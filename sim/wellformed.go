package sim

import (
	"slices"
	"sort"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/journal"
	"github.com/orrery-log/orrery/core/metadata"
	"github.com/orrery-log/orrery/core/record"
)

// O7: every log is well-formed at each step, seen where its records leave the
// broker: in the journal. Offsets follow each other, leader epochs never fall and
// are new in each life, a batch that is journaled again is the same batch.
//
// The same books tell, for each answer, whether what it acknowledges or shows is
// on the medium at that moment: an answer that runs ahead of the disk is found
// without waiting for the crash that would prove it.
type forms struct {
	w    *world
	logs map[env.LogID]*form
	ids  []env.LogID
	// opens are the entries that opened a segment, by Seq: its Gen.
	opens map[env.Seq]opened
}

type opened struct {
	log  env.LogID
	base int64
}

// form is one log as the journal tells it.
type form struct {
	batches []formBatch // by base; those that the journal still had when they came
	starts  []formStart // how the start moved
	epoch   int32       // the highest leader epoch ever used
	life    uint64      // in which life
}

type formStart struct {
	start int64
	seq   env.Seq
}

type formBatch struct {
	base, end int64
	seq       env.Seq // of the first entry that held it
	sum       uint32
	epoch     int32
	life      uint64
}

// journaled takes an entry on its way to the journal.
func (f *forms) journaled(e *env.Entry) {
	kind, r, ok := journal.Parse(e.Header)
	if !ok {
		f.w.fail(malformed, "journal entry %d: a header of no known kind: %x", e.Seq, e.Header)
	}
	switch kind {
	case journal.KindDrop:
		delete(f.logs, e.Log)
		return
	case journal.KindOpen:
		if h, ok := journal.ParseOpen(r); ok {
			f.opens[e.Seq] = opened{e.Log, h.Base}
		}
		return
	case journal.KindStart:
		if h, ok := journal.ParseStart(r); ok && f.logs[e.Log] != nil {
			l := f.logs[e.Log]
			l.starts = append(l.starts, formStart{h.Start, e.Seq})
		}
		return
	case journal.KindRecords:
	default:
		return
	}
	h, ok := journal.ParseRecords(r)
	if !ok {
		f.w.fail(malformed, "journal entry %d: a broken header of records: %x", e.Seq, e.Header)
	}
	b, rest, ok := record.Next(e.Payload)
	if !ok || len(rest) > 0 || !b.Sound() || b.BaseOffset() != h.Base || b.LastOffset() != h.Last {
		f.w.fail(malformed, "journal entry %d: its payload is not the batch %d..%d that its header announces", e.Seq, h.Base, h.Last)
	}
	if t := f.w.truth.log(e.Log.Topic, e.Log.Partition); t != nil && t.blind {
		delete(f.logs, e.Log)
		return
	}
	l := f.logs[e.Log]
	if l == nil {
		l = &form{epoch: -1}
		f.logs[e.Log] = l
		f.ids = append(f.ids, e.Log)
	}
	batch := formBatch{h.Base, h.Last + 1, e.Seq, record.CRC(b), b.LeaderEpoch(), f.w.life}
	if old, ok := l.find(h.Base); ok {
		if old.sum != batch.sum || old.end != batch.end {
			f.w.fail(malformed, "journal entry %d: %v, and another batch stood there", e.Seq, b)
		}
		return // carried to the head of the journal
	}
	if n := len(l.batches); n > 0 && l.batches[n-1].end != batch.base {
		f.w.fail(malformed, "journal entry %d: %v behind offset %d", e.Seq, b, l.batches[n-1].end)
	}
	switch epoch := b.LeaderEpoch(); {
	case epoch < l.epoch:
		f.w.fail(malformed, "journal entry %d: %v after leader epoch %d", e.Seq, b, l.epoch)
	case epoch == l.epoch && l.life != f.w.life:
		f.w.fail(malformed, "journal entry %d: %v, and an earlier life has used leader epoch %d", e.Seq, b, epoch)
	default:
		l.epoch, l.life = epoch, f.w.life
	}
	l.batches = append(l.batches, batch)
}

// end is where a log ends, as far as it was journaled.
func (f *forms) end(id env.LogID) int64 {
	l := f.logs[id]
	if l == nil || len(l.batches) == 0 {
		return 0
	}
	return l.batches[len(l.batches)-1].end
}

// find is the batch that holds an offset.
func (l *form) find(offset int64) (formBatch, bool) {
	i := sort.Search(len(l.batches), func(i int) bool { return l.batches[i].end > offset })
	if i < len(l.batches) && l.batches[i].base <= offset {
		return l.batches[i], true
	}
	return formBatch{}, false
}

// crashed forgets the batches whose first entry did not survive.
func (f *forms) crashed(last env.Seq) {
	for seq := range f.opens {
		if seq > last {
			delete(f.opens, seq)
		}
	}
	for _, id := range f.ids {
		if l := f.logs[id]; l != nil {
			n := len(l.batches)
			for n > 0 && l.batches[n-1].seq > last {
				n--
			}
			l.batches = l.batches[:n]
			l.starts = slices.DeleteFunc(l.starts, func(s formStart) bool { return s.seq > last })
			// A life whose registration was lost never was: nobody has been answered
			// in it, and its epoch may be used again.
			if id.Topic == metadata.MetadataTopic() {
				l.epoch, l.life = -1, 0
				if n > 0 {
					l.epoch, l.life = l.batches[n-1].epoch, l.batches[n-1].life
				}
			}
		}
	}
}

// replied holds an answer against the medium.
func (f *forms) replied(body kmsg.Response, q asked) {
	acks := q.acks
	switch m := body.(type) {
	case *kmsg.DeleteRecordsResponse:
		for i := range m.Topics {
			for k := range m.Topics[i].Partitions {
				if p := &m.Topics[i].Partitions[k]; p.ErrorCode == env.NoError {
					f.purged(f.topic(m.Topics[i].Topic, [16]byte{}), p.Partition, q.purge)
				}
			}
		}
	case *kmsg.ProduceResponse:
		for i := range m.Topics {
			t := &m.Topics[i]
			for k := range t.Partitions {
				if p := &t.Partitions[k]; p.ErrorCode == env.NoError && acks != 0 {
					f.acknowledged(f.topic(t.Topic, t.TopicID), p.Partition, p.BaseOffset, acks)
				}
			}
		}
	case *kmsg.FetchResponse:
		for i := range m.Topics {
			t := &m.Topics[i]
			for k := range t.Partitions {
				p := &t.Partitions[k]
				f.shown(f.topic(t.Topic, t.TopicID), p)
			}
		}
	}
}

// topic finds a topic by what an answer names it by; nil: not known, or not sure.
func (f *forms) topic(name string, id [16]byte) *topicTruth {
	if id != ([16]byte{}) {
		return f.w.truth.topics[id]
	}
	for i := range f.w.plan.Topics {
		if t := &f.w.plan.Topics[i]; t.Name == name && !t.Churn {
			return f.w.crowd.topics[i].now
		}
	}
	return nil
}

// durable is the last Seq that an answer of a topic may rest on.
func (f *forms) durable(t *topicTruth, written bool) env.Seq {
	if written || t.relaxed {
		return f.w.disk.journal.written
	}
	return f.w.disk.journal.synced
}

// purged: an answer to DeleteRecords rests on an entry that is on the medium.
func (f *forms) purged(t *topicTruth, partition int32, to int64) {
	if t == nil || t.parts[partition].blind || to <= 0 {
		return
	}
	l := f.logs[env.LogID{Topic: t.id, Partition: partition}]
	if l == nil {
		return
	}
	for _, s := range l.starts {
		if s.start >= to && s.seq <= f.w.disk.journal.synced {
			return
		}
	}
	f.w.fail(lost, "%s-%d: DeleteRecords to %d is answered, and no entry that says so is synced (%d is): %v", t.name, partition, to, f.w.disk.journal.synced, l.starts)
}

func (f *forms) acknowledged(t *topicTruth, partition int32, base int64, acks int16) {
	if t == nil || t.parts[partition].blind {
		return
	}
	l := f.logs[env.LogID{Topic: t.id, Partition: partition}]
	if l == nil {
		return
	}
	b, ok := l.find(base)
	if !ok {
		f.w.fail(lost, "%s-%d: offset %d is acknowledged, and nothing was ever appended there", t.name, partition, base)
	}
	if seq := f.durable(t, acks == 1); b.seq > seq {
		f.w.fail(lost, "%s-%d: offset %d is acknowledged (acks %d), its journal entry %d is not durable yet: %d is", t.name, partition, base, acks, b.seq, seq)
	}
}

func (f *forms) shown(t *topicTruth, p *kmsg.FetchResponseTopicPartition) {
	if t == nil || p.ErrorCode != env.NoError || t.parts[p.Partition].blind {
		return
	}
	l := f.logs[env.LogID{Topic: t.id, Partition: p.Partition}]
	if l == nil {
		return
	}
	seq := f.durable(t, false)
	for b, rest, ok := record.Next(p.RecordBatches); ok; b, rest, ok = record.Next(rest) {
		if at, known := l.find(b.BaseOffset()); known && at.seq > seq {
			f.w.fail(inconsistent, "%s-%d: %v is shown, its journal entry %d is not durable yet: %d is", t.name, p.Partition, b, at.seq, seq)
		}
	}
	if hw := p.HighWatermark; hw > 0 {
		if at, known := l.find(hw - 1); known && at.seq > seq {
			f.w.fail(inconsistent, "%s-%d: the watermark %d is told, the journal entry %d below it is not durable yet: %d is", t.name, p.Partition, hw, at.seq, seq)
		}
	}
}
