package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// place is a point in a topic as a person says it; see consume --help.
type place struct {
	kind placeKind
	n    int64 // an offset, a number of records, or a time in ms
}

type placeKind uint8

const (
	placeEarliest placeKind = iota
	placeLatest
	placeOffset
	placeBack // n records before the end
	placeTime // the first record at or after n
)

func parsePlace(flag, text string, now time.Time) (place, error) {
	switch text {
	case "earliest":
		return place{kind: placeEarliest}, nil
	case "latest":
		return place{kind: placeLatest}, nil
	}
	if n, err := strconv.ParseInt(strings.TrimPrefix(text, "-"), 10, 64); err == nil {
		if strings.HasPrefix(text, "-") {
			return place{placeBack, n}, nil
		}
		return place{placeOffset, n}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return place{placeTime, now.Add(-ago).UnixMilli()}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return place{placeTime, t.UnixMilli()}, nil
		}
	}
	return place{}, usage("%s %s: it is earliest, latest, an offset, -N for the last N, a time such as 2026-01-31T12:00:00Z, or a time ago such as 15m", flag, text)
}

// offsets are the place in each partition, between its start and its end.
func (p place) offsets(ctx context.Context, admin *kadm.Client, topic string, starts, ends kadm.ListedOffsets) (map[int32]int64, error) {
	times := kadm.ListedOffsets{}
	if p.kind == placeTime {
		var err error
		if times, err = admin.ListOffsetsAfterMilli(ctx, p.n, topic); err != nil {
			return nil, plain(err)
		}
	}
	at := make(map[int32]int64)
	for partition, end := range ends[topic] {
		start, _ := starts.Lookup(topic, partition)
		var offset int64
		switch p.kind {
		case placeEarliest:
			offset = start.Offset
		case placeLatest:
			offset = end.Offset
		case placeOffset:
			offset = p.n
		case placeBack:
			offset = end.Offset - p.n
		case placeTime:
			t, ok := times.Lookup(topic, partition)
			if t.Err != nil {
				return nil, fmt.Errorf("topic %s partition %d: %w", topic, partition, plain(t.Err))
			}
			if offset = t.Offset; !ok || offset < 0 {
				offset = end.Offset
			}
		}
		at[partition] = min(max(offset, start.Offset), end.Offset)
	}
	return at, nil
}
