package log

// Available is about how many bytes from offset from on lie before limit, as far
// as that matters: it is never less than upTo when there are that many. What a
// segment holds counts as enough, since a reader that is behind need not wait.
func (l *Log) Available(from, limit, upTo int64) int64 {
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
