package main

import (
	"math/bits"
	"sync"
	"time"
)

// histogram counts durations in buckets that are about 3 % wide, so that a
// million latencies cost 15 KiB. Safe for concurrent use.
type histogram struct {
	mu      sync.Mutex
	buckets [64 * subBuckets]int64
	count   int64
	sum     time.Duration
	most    time.Duration // exact
}

// subBuckets is how many buckets there are to each power of two.
const (
	subBits    = 5
	subBuckets = 1 << subBits
)

func (h *histogram) add(d time.Duration) {
	d = max(d, 0)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buckets[bucketOf(uint64(d))]++
	h.count++
	h.sum += d
	h.most = max(h.most, d)
}

// bucketOf: small values have a bucket each; above, the leading bit picks the
// row and the next five bits the place in it.
func bucketOf(v uint64) int {
	if v < subBuckets {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - subBits
	return (shift+1)*subBuckets + int(v>>shift)&(subBuckets-1)
}

// bucketEnd is the largest value of a bucket.
func bucketEnd(i int) uint64 {
	if i < subBuckets {
		return uint64(i)
	}
	shift := i/subBuckets - 1
	return uint64(subBuckets+i%subBuckets+1)<<shift - 1
}

// quantile is a value that permille of the durations do not exceed; 0 when there are none.
func (h *histogram) quantile(permille int64) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	rank := (h.count*permille + 999) / 1000
	for i, n := range h.buckets {
		if rank -= n; rank <= 0 && h.count > 0 {
			return min(time.Duration(bucketEnd(i)), h.most)
		}
	}
	return h.most
}

// mean is the average, 0 when there are none.
func (h *histogram) mean() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count == 0 {
		return 0
	}
	return h.sum / time.Duration(h.count)
}

// max is the largest, exactly.
func (h *histogram) max() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.most
}

// reset empties it.
func (h *histogram) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buckets, h.count, h.sum, h.most = [64 * subBuckets]int64{}, 0, 0, 0
}
