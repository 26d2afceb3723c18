package sim

import (
	"bytes"
	"hash/crc64"
)

// FirstDifference runs a seed that is not deterministic twice more and returns
// the first line of the trace in which the runs differ, as each had it, and its
// number. Not ok: this time they agreed.
func FirstDifference(seed uint64, profile string, kit Kit) (number int, first, second string, ok bool) {
	a := lines{}
	kit.Trace = &a
	if _, err := One(seed, profile, kit); err != nil {
		return 0, "", "", false
	}
	b := lines{against: a.sums, wanted: -1}
	kit.Trace = &b
	_, _ = One(seed, profile, kit) // the same arguments as before
	if b.found == "" {
		return 0, "", "", false
	}
	c := lines{wanted: b.at}
	kit.Trace = &c
	_, _ = One(seed, profile, kit)
	return b.at, c.found, b.found, true
}

// lines takes a trace, of which each Write is one line, and keeps a checksum of each.
type lines struct {
	sums    []uint64
	against []uint64 // the first line that differs from these is kept
	wanted  int      // or the line of this number, counting from 1
	at      int
	found   string
}

var table = crc64.MakeTable(crc64.ECMA)

func (l *lines) Write(line []byte) (int, error) {
	n := len(l.sums)
	l.sums = append(l.sums, crc64.Checksum(line, table))
	differs := l.against != nil && (n >= len(l.against) || l.against[n] != l.sums[n])
	if l.found == "" && (differs || n+1 == l.wanted) {
		l.at, l.found = n+1, string(bytes.TrimSpace(line))
	}
	return len(line), nil
}
