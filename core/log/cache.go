package log

import (
	"fmt"

	"github.com/orrery-log/orrery/core/env"
)

// IndexCache keeps indexes of sealed segments, those used last, up to a number of
// bytes. One serves all logs of a shard. The index put last always stays, however
// large: whoever loaded it is about to use it.
type IndexCache struct {
	limit, bytes int64
	slots        []cached
	byID         map[env.SegmentID]int32
	newest       int32 // slots form a list from newest to oldest; -1: none
	oldest       int32
	free         int32 // slots without an index, linked by older
}

type cached struct {
	id           env.SegmentID
	runs         []run
	newer, older int32
}

// cachedOverhead is what an index costs beyond its runs, in bytes.
const cachedOverhead = 160

func (c *cached) bytes() int64 { return int64(len(c.runs))*runBytes + cachedOverhead }

const runBytes = 40

// NewIndexCache keeps up to limit bytes.
func NewIndexCache(limit int64) IndexCache {
	return IndexCache{limit: limit, newest: -1, oldest: -1, free: -1}
}

// Bytes is what the cache holds.
func (c *IndexCache) Bytes() int64 { return c.bytes }

func (c *IndexCache) get(id env.SegmentID) ([]run, bool) {
	i, ok := c.byID[id]
	if !ok {
		return nil, false
	}
	c.unlink(i)
	c.link(i)
	return c.slots[i].runs, true
}

func (c *IndexCache) put(id env.SegmentID, runs []run) {
	if _, ok := c.byID[id]; ok {
		return
	}
	i := c.free
	if i < 0 {
		i = int32(len(c.slots))
		c.slots = append(c.slots, cached{})
	} else {
		c.free = c.slots[i].older
	}
	c.slots[i] = cached{id: id, runs: runs}
	c.link(i)
	if c.byID == nil {
		c.byID = make(map[env.SegmentID]int32)
	}
	c.byID[id] = i
	c.bytes += c.slots[i].bytes()
	for c.bytes > c.limit && c.oldest != i {
		c.evict(c.oldest)
	}
}

func (c *IndexCache) evict(i int32) {
	c.bytes -= c.slots[i].bytes()
	delete(c.byID, c.slots[i].id)
	c.unlink(i)
	c.slots[i] = cached{newer: -1, older: c.free}
	c.free = i
}

func (c *IndexCache) link(i int32) {
	c.slots[i].newer, c.slots[i].older = -1, c.newest
	if c.newest >= 0 {
		c.slots[c.newest].newer = i
	} else {
		c.oldest = i
	}
	c.newest = i
}

func (c *IndexCache) unlink(i int32) {
	s := &c.slots[i]
	if s.newer >= 0 {
		c.slots[s.newer].older = s.older
	} else {
		c.newest = s.older
	}
	if s.older >= 0 {
		c.slots[s.older].newer = s.newer
	} else {
		c.oldest = s.newer
	}
}

// CheckInvariants panics when the list, the map and the count disagree. It costs
// a walk over the cache.
func (c *IndexCache) CheckInvariants() {
	n, bytes := 0, int64(0)
	for i := c.newest; i >= 0; i = c.slots[i].older {
		n, bytes = n+1, bytes+c.slots[i].bytes()
		if j, ok := c.byID[c.slots[i].id]; !ok || j != i {
			panic(fmt.Sprintf("log: cached index of %v in slot %d, known in %d", c.slots[i].id, i, j))
		}
	}
	if n != len(c.byID) || bytes != c.bytes {
		panic(fmt.Sprintf("log: cache lists %d indexes of %d bytes, knows %d of %d", n, bytes, len(c.byID), c.bytes))
	}
}
