package log

// Available is about how many bytes from offset from on lie before limit, as far
// as that matters: it is never less than upTo when there are that many. What a
// segment holds counts as enough, since a reader that is behind need not wait;
// an accepted loss counts as nothing, or its reader would ask again and again.
func (l *Log) Available(from, limit, upTo int64) int64 {
	from, _ = l.damage.pass(from)
	if from >= min(limit, l.end) || upTo <= 0 {
		return 0
	}
	if from < l.tail.base(l.end) {
		return upTo
	}
	sum := int64(0)
	for i := l.tail.find(from); i < len(l.tail.list) && sum < upTo; i++ {
		if l.tail.list[i].base >= limit {
			break
		}
		sum += int64(len(l.tail.list[i].bytes))
	}
	return sum
}

// EpochAt is the leader epoch of the record at offset; at the end, of the last one.
func (l *Log) EpochAt(offset int64) int32 { return l.epochs.at(offset) }

// HasOpenSegment tells whether a Store needs no new file.
func (l *Log) HasOpenSegment() bool {
	n := len(l.segments)
	return n > 0 && l.segments[n-1].state == open
}

// Storing tells whether records are in a Store that is not Synced yet. The
// driver owes that number unasked.
func (l *Log) Storing() bool {
	if l.tail.bytes > l.tail.unstored {
		return true
	}
	for i := len(l.segments) - 1; i >= 0; i-- {
		if s := &l.segments[i]; s.synced < s.size+s.footer {
			return true
		}
	}
	return false
}
