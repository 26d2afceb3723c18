package door

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// SealParts is Seal without copying record batches: the parts that it appends,
// one behind the other, are what Seal would write. What is no record batch goes
// to dst, and parts point into it and into the response; neither may change until
// the parts are written.
//
// A large Fetch answer is nearly all record batches, and Seal would copy each byte
// once and more often while dst grows: half of a consumer's cost.
func SealParts(parts [][]byte, dst []byte, h Header, resp kmsg.Response) ([][]byte, []byte) {
	fetch, ok := resp.(*kmsg.FetchResponse)
	if !ok || h.Version < 4 || hasTags(fetch) {
		at := len(dst)
		dst = Seal(dst, h, resp)
		return append(parts, dst[at:]), dst
	}
	fetch.SetVersion(h.Version)
	w := partWriter{parts: parts, buf: dst, at: len(dst)}
	first := len(parts)
	w.buf = append(w.buf, 0, 0, 0, 0)
	w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(h.Correlation))
	if flexibleHeader(h.Key, fetch.IsFlexible()) {
		w.buf = append(w.buf, 0)
	}
	w.fetch(fetch)
	w.flush()
	size := -4
	for _, p := range w.parts[first:] {
		size += len(p)
	}
	if size > math.MaxInt32 {
		panic(fmt.Sprintf("door: a response of %d bytes to key %d", size, h.Key))
	}
	binary.BigEndian.PutUint32(w.parts[first], uint32(size))
	return w.parts, w.buf
}

// hasTags tells whether a Fetch answer has tagged fields. Few have: Seal writes those.
func hasTags(r *kmsg.FetchResponse) bool {
	if len(r.Brokers) > 0 || r.UnknownTags.Len() > 0 {
		return true
	}
	for i := range r.Topics {
		t := &r.Topics[i]
		if t.UnknownTags.Len() > 0 {
			return true
		}
		for j := range t.Partitions {
			p := &t.Partitions[j]
			d, l, s := &p.DivergingEpoch, &p.CurrentLeader, &p.SnapshotID
			if d.Epoch != -1 || d.EndOffset != -1 || l.LeaderID != -1 || l.LeaderEpoch != -1 || s.EndOffset != -1 || s.Epoch != -1 ||
				p.UnknownTags.Len() > 0 || d.UnknownTags.Len() > 0 || l.UnknownTags.Len() > 0 || s.UnknownTags.Len() > 0 {
				return true
			}
			for k := range p.AbortedTransactions {
				if p.AbortedTransactions[k].UnknownTags.Len() > 0 {
					return true
				}
			}
		}
	}
	return false
}

// partWriter appends to buf; buf[at:] is not in parts yet. A buf that grows moves,
// and parts that point into its old memory stay as they are.
type partWriter struct {
	parts [][]byte
	buf   []byte
	at    int
}

func (w *partWriter) flush() {
	if len(w.buf) > w.at {
		w.parts = append(w.parts, w.buf[w.at:])
		w.at = len(w.buf)
	}
}

// fetch writes a Fetch answer without tagged fields, from version 4 on. v5 added
// the log start offset, v7 sessions, v11 the preferred replica, v12 is flexible,
// v13 names topics by id.
func (w *partWriter) fetch(r *kmsg.FetchResponse) {
	v, flexible := r.Version, r.IsFlexible()
	w.buf = kbin.AppendInt32(w.buf, r.ThrottleMillis)
	if v >= 7 {
		w.buf = kbin.AppendInt16(w.buf, r.ErrorCode)
		w.buf = kbin.AppendInt32(w.buf, r.SessionID)
	}
	w.length(len(r.Topics), flexible)
	for i := range r.Topics {
		t := &r.Topics[i]
		switch {
		case v >= 13:
			w.buf = append(w.buf, t.TopicID[:]...)
		case flexible:
			w.buf = kbin.AppendCompactString(w.buf, t.Topic)
		default:
			w.buf = kbin.AppendString(w.buf, t.Topic)
		}
		w.length(len(t.Partitions), flexible)
		for j := range t.Partitions {
			w.partition(&t.Partitions[j], v, flexible)
		}
		w.noTags(flexible)
	}
	w.noTags(flexible)
}

func (w *partWriter) partition(p *kmsg.FetchResponseTopicPartition, v int16, flexible bool) {
	w.buf = kbin.AppendInt32(w.buf, p.Partition)
	w.buf = kbin.AppendInt16(w.buf, p.ErrorCode)
	w.buf = kbin.AppendInt64(w.buf, p.HighWatermark)
	w.buf = kbin.AppendInt64(w.buf, p.LastStableOffset)
	if v >= 5 {
		w.buf = kbin.AppendInt64(w.buf, p.LogStartOffset)
	}
	aborted := len(p.AbortedTransactions)
	if p.AbortedTransactions == nil {
		aborted = -1
	}
	w.length(aborted, flexible)
	for i := range p.AbortedTransactions {
		w.buf = kbin.AppendInt64(w.buf, p.AbortedTransactions[i].ProducerID)
		w.buf = kbin.AppendInt64(w.buf, p.AbortedTransactions[i].FirstOffset)
		w.noTags(flexible)
	}
	if v >= 11 {
		w.buf = kbin.AppendInt32(w.buf, p.PreferredReadReplica)
	}
	records := len(p.RecordBatches)
	if p.RecordBatches == nil {
		records = -1
	}
	w.length(records, flexible)
	if records > 0 {
		w.flush()
		w.parts = append(w.parts, p.RecordBatches)
	}
	w.noTags(flexible)
}

// length writes the length of an array or of bytes; -1 is null.
func (w *partWriter) length(n int, flexible bool) {
	if flexible {
		w.buf = kbin.AppendUvarint(w.buf, uint32(n+1))
	} else {
		w.buf = kbin.AppendInt32(w.buf, int32(n))
	}
}

func (w *partWriter) noTags(flexible bool) {
	if flexible {
		w.buf = append(w.buf, 0)
	}
}
