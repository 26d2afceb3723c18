package log

import (
	"fmt"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/journal"
	"github.com/orrery-log/orrery/core/record"
	"github.com/orrery-log/orrery/core/wait"
)

// Settings is what a topic's configuration says about its logs.
type Settings struct {
	SegmentBytes   int64
	SegmentAge     env.Time // between the timestamps of a segment's first and a later batch
	RetentionBytes int64    // -1: none
	RetentionTime  env.Time // -1: none
	Relaxed        bool     // durability=written: an acknowledged record is Written, not Synced
	ProducerExpiry env.Time // by Wall
}

// Log is one partition's log. All ends are exclusive.
type Log struct {
	id env.LogID
	s  Settings
	// What of Limits concerns a log.
	storePiece, indexEvery, checkEvery, carryMax int64
	window                                       int // batches remembered for each producer

	start    int64   // first offset that may be read; start <= end
	startSeq env.Seq // the entry that moved it in this life
	end      int64   // the next offset
	written  int64   // records before it are Written in the journal
	synced   int64   // records before it are Synced; start <= synced <= written <= end

	epochs    epochs
	producers map[int64]producer

	tail  tail  // records that no segment has Written
	marks marks // where in the journal the records are that no synced checkpoint counts

	segments []segment // by offset; the last may be open, at most one waits behind it
	dying    []segment // given up; dropped when the entry that gives them up is Synced and nobody uses them
	want     bool      // Store was asked and waits for a segment to open
	hurry    bool      // the cut waits for what Store writes

	check     checkpointing
	damage    damage
	forgiving bool       // what turns out to be unreadable is accepted as lost, in this life
	unsaid    bool       // a loss was accepted that no checkpoint tells
	recent    []position // where recent reads ended
	turn      int        // of recent, which is replaced next
	removed   env.Seq    // the Drop entry; 0: none
	gone      bool       // it is Synced and every file is dropped

	recovering bool    // before Recovered: nothing may be journaled
	refilled   int64   // recovery: records before it are stored, in the tail, or lost
	lastSeen   env.Seq // recovery: the last entry replayed
	lostBefore env.Seq // recovery: an entry from here on shows that nothing is missing
}

// New is the log of a partition that begins now.
func New(id env.LogID, s Settings, lim env.Limits) *Log {
	l := &Log{id: id, s: s}
	l.limit(lim)
	return l
}

func (l *Log) limit(lim env.Limits) {
	l.storePiece, l.indexEvery = storePieceMax, int64(lim.IndexEvery)
	l.checkEvery, l.carryMax, l.window = lim.CheckEvery, lim.CarryMax, int(lim.Producers)
	if l.indexEvery <= 0 || l.window <= 0 {
		panic(fmt.Sprintf("log: index every %d bytes, %d batches a producer", l.indexEvery, l.window))
	}
}

// Apply changes the settings: from the next decision on they hold.
func (l *Log) Apply(s Settings) { l.s = s }

// ID names the log.
func (l *Log) ID() env.LogID { return l.id }

// Start is the first offset that may be read.
func (l *Log) Start() int64 { return l.start }

// End is the offset that the next record gets.
func (l *Log) End() int64 { return l.end }

// Written is the end of what survives the death of the process.
func (l *Log) Written() int64 { return l.written }

// Synced is the end of what survives the loss of power.
func (l *Log) Synced() int64 { return l.synced }

// Durable is the end of what the topic promises to keep.
func (l *Log) Durable() int64 {
	if l.s.Relaxed {
		return l.written
	}
	return l.synced
}

// Append places the batch at the end of the log and journals it. The batch was
// checked by the door and by Check in this same Step, and its bytes belong to
// the log from now on: base offset and epoch are written into them.
func (l *Log) Append(j *journal.Journal, out *env.Outbox, now env.Now, b record.Batch, info env.BatchInfo, epoch int32) (base int64, seq env.Seq) {
	if l.recovering || l.removed != 0 {
		panic(fmt.Sprintf("log: append to %v, recovering %v, removed at %d", l.id, l.recovering, l.removed))
	}
	if last := l.epochs.last(); epoch < last {
		panic(fmt.Sprintf("log: append in epoch %d behind epoch %d", epoch, last))
	}
	base = l.end
	b.Place(base, epoch)
	h := describe(b, info, now.WallMillis())
	h.Fresh = l.producerIsFresh(&h)
	seq = l.journal(j, out, env.Entry{Sync: !l.s.Relaxed, Header: j.Keep(h.AppendTo(j.Header())), Payload: b})
	l.learn(&h)
	l.marks.push(seq, l.end)
	l.tail.push(tailBatch{
		bytes: b, base: base, end: l.end, epoch: epoch, maxTime: h.MaxTime, maxTimeAt: h.MaxTimeAt, wall: h.Wall, mono: now.Mono, at: -1,
	})
	return base, seq
}

// describe is the journal header of a batch.
func describe(b record.Batch, info env.BatchInfo, wallMs int64) journal.Records {
	h := journal.Records{
		Base: b.BaseOffset(), Last: b.LastOffset(), Epoch: b.LeaderEpoch(), Bytes: int32(len(b)), Count: b.Count(),
		MaxTime: b.MaxTimestamp(), MaxTimeAt: b.BaseOffset() + int64(info.MaxTimeAt), Wall: wallMs,
		Transactional: b.Transactional(), Control: b.Control(),
		ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), Sequence: b.BaseSequence(),
	}
	if b.LogAppendTime() || info.MaxTimeAt < 0 || info.MaxTimeAt > b.LastOffsetDelta() {
		h.MaxTimeAt = h.Base // every record has the broker's stamp
	}
	return h
}

// learn takes a batch into the state that records hold: end, epochs, producers.
// It is the same live and in replay, and depends on nothing but the header.
func (l *Log) learn(h *journal.Records) {
	if h.Base < l.end {
		panic(fmt.Sprintf("log: batch at %d behind the end %d", h.Base, l.end))
	}
	l.epochs.assign(h.Epoch, h.Base)
	if h.ProducerID >= 0 {
		l.learnProducer(h)
	}
	l.end = h.Last + 1
}

// Journaled learns how far the journal is.
func (l *Log) Journaled(written, synced env.Seq) {
	if end, ok := l.marks.wrote(written); ok {
		l.written = max(l.written, end)
	}
	if end, ok := l.marks.sync(synced); ok {
		l.synced = max(l.synced, end)
	}
	l.check.journaled(l, synced)
}

// TailBytes is the bytes of records held in memory.
func (l *Log) TailBytes() int64 { return l.tail.bytes }

// Unstored is the bytes of records that are in no Store yet.
func (l *Log) Unstored() int64 { return l.tail.unstored }

// OldestUnstored is when the oldest record that is in no Store yet was appended, by Mono; wait.Never without one.
func (l *Log) OldestUnstored() env.Time {
	if b := l.tail.firstUnstored(); b != nil {
		return b.mono
	}
	return wait.Never
}
