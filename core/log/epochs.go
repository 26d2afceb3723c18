package log

import (
	"fmt"
	"sort"
)

// epochs are the leader epochs of a log with the offsets where they begin, both
// rising (KIP-101). The first one's start is never below the log's start.
type epochs struct{ list []epochStart }

type epochStart struct {
	epoch int32
	start int64
}

// last is the newest epoch; -1: none.
func (e *epochs) last() int32 {
	if len(e.list) == 0 {
		return -1
	}
	return e.list[len(e.list)-1].epoch
}

// assign notes that the batch at offset is of epoch.
func (e *epochs) assign(epoch int32, offset int64) {
	last := e.last()
	if epoch < last {
		panic(fmt.Sprintf("log: epoch %d at offset %d behind epoch %d", epoch, offset, last))
	}
	if epoch > last {
		if n := len(e.list); n > 0 && e.list[n-1].start == offset {
			e.list = e.list[:n-1] // its records are all before the log's start
		}
		e.list = append(e.list, epochStart{epoch, offset})
	}
}

// at is the epoch that the record at offset has; -1: before the first.
func (e *epochs) at(offset int64) int32 {
	i := sort.Search(len(e.list), func(i int) bool { return e.list[i].start > offset })
	if i == 0 {
		return -1
	}
	return e.list[i-1].epoch
}

// end answers OffsetForLeaderEpoch as Kafka's LeaderEpochFileCache.endOffsetFor
// does: the largest epoch at or below the asked one, and where it ends; -1 and
// -1 when the asked one is newer than all or there are none.
func (e *epochs) end(epoch int32, logEnd int64) (int32, int64) {
	last := e.last()
	if epoch == -1 || epoch > last {
		return -1, -1
	}
	if epoch == last {
		return epoch, logEnd
	}
	i := sort.Search(len(e.list), func(i int) bool { return e.list[i].epoch > epoch })
	if i == 0 {
		return epoch, e.list[0].start // older than all: it ends where the first begins
	}
	return e.list[i-1].epoch, e.list[i].start
}

// startAt forgets the epochs that end at or before start; the one that contains
// it begins there from now on.
func (e *epochs) startAt(start int64) {
	i := sort.Search(len(e.list), func(i int) bool { return e.list[i].start > start })
	if i == 0 {
		return
	}
	e.list = append(e.list[:0], e.list[i-1:]...)
	e.list[0].start = start
}

// LastEpoch is the leader epoch of the last record; -1: none.
func (l *Log) LastEpoch() int32 { return l.epochs.last() }

// EpochEnd is the largest epoch at or below the asked one that has records, and
// the offset where it ends. -1 and -1: the asked one is newer than every record.
func (l *Log) EpochEnd(epoch int32) (int32, int64) { return l.epochs.end(epoch, l.end) }
