package sim

import "github.com/orrery-log/orrery/core/env"

// What faults may legally lose stands here and nowhere else, so that the oracles
// assert everything else.
//
//   - A process crash loses nothing that a client was told: an answer to acks=1
//     means written, and what is written survives the process.
//   - A loss of power may take what was acknowledged with acks=1 and not yet on
//     the medium; nobody has been shown such a record of a durable topic.
//   - On a relaxed topic (durability=written) it may take everything that was not
//     on the medium, shown or not.
//   - A damaged range (bit rot) may be refused with KAFKA_STORAGE_ERROR, never
//     served otherwise and never skipped.
//   - Retention takes whole segments whose records have all expired, or the oldest
//     while retention.bytes remain; DeleteRecords takes what is below its offset.
//   - A log start that was shown, and is no answer to DeleteRecords, may go back with
//     a crash: then records that had expired are there again.
//   - acks=0 promises nothing.

// crashed forgets what a crash may have taken. Everything that came in before
// safeAt was on the medium.
func (t *truth) crashed(power bool, safeAt env.Time) {
	for _, l := range t.order {
		for len(l.starts) > 0 && l.starts[len(l.starts)-1].at >= safeAt {
			l.starts = l.starts[:len(l.starts)-1]
		}
		l.start = l.begun
		if n := len(l.starts); n > 0 {
			l.start = max(l.start, l.starts[n-1].end)
		}
		if !power {
			continue
		}
		for o := range l.claims {
			c := &l.claims[o]
			if c.id != 0 && c.at >= safeAt && (l.topic.relaxed || c.weak) {
				r := &t.records[c.id]
				r.copies--
				if r.at == int64(o) {
					r.at = -1
				}
				*c = claim{}
			}
		}
		if l.topic.relaxed {
			l.floor = l.floorBefore(safeAt)
			l.shaken = true
		}
	}
}

// floorBefore is the highest end that somebody was told before a time.
func (l *logTruth) floorBefore(at env.Time) int64 {
	for len(l.floors) > 0 && l.floors[len(l.floors)-1].at >= at {
		l.floors = l.floors[:len(l.floors)-1]
	}
	if n := len(l.floors); n > 0 {
		return l.floors[n-1].end
	}
	return 0
}

// mayStart tells whether the log may begin at an offset: everything before it was
// deleted by request, has expired, or exceeds what retention keeps.
func (t *truth) mayStart(l *logTruth, start int64) bool {
	if start <= l.start || start <= l.purge {
		return true
	}
	from := max(l.start, l.purge)
	if ms := l.topic.retentionMs; ms > 0 && t.allExpired(l, from, start, ms) {
		return true
	}
	if bytes := l.topic.retentionBytes; bytes > 0 && l.bytesFrom(t, start) >= bytes {
		return true
	}
	return false
}

func (t *truth) allExpired(l *logTruth, from, to, ms int64) bool {
	for o := from; o < to && o < int64(len(l.claims)); o++ {
		if c := l.claims[o]; c.id != 0 && c.time+ms >= t.w.wallMax {
			return false
		}
	}
	return true
}

// bytesFrom is an upper bound of the bytes from an offset on. A batch has at
// least one record, 61 bytes of header and a few for each record. Where nobody was
// told how far the log reaches, as behind acks=0, the journal tells.
func (l *logTruth) bytesFrom(t *truth, start int64) int64 {
	n := int64(0)
	end := t.w.forms.end(env.LogID{Topic: l.topic.id, Partition: l.partition})
	for o := start; o < max(l.floor, l.told, int64(len(l.claims)), end); o++ {
		n += 110
		if o < int64(len(l.claims)) && l.claims[o].id != 0 {
			n += int64(t.records[l.claims[o].id].size)
		} else {
			n += 2048
		}
	}
	return n
}
