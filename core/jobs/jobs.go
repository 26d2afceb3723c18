package jobs

import (
	"encoding/binary"
	"fmt"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
	"github.com/orrery-log/orrery/core/record/codec"
)

// heldMax bounds the plain bytes that one job holds. No topic takes a batch that
// is larger.
const heldMax = 64 << 20

// Run computes j. Data of the result is nil where j.Data is not what the job needs.
func Run(j env.Job) env.Done {
	b, rest, ok := record.Next(j.Data)
	if !ok || len(rest) > 0 {
		return env.Done{Job: j.Job}
	}
	switch j.Kind {
	case env.Recompress:
		return env.Done{Job: j.Job, Data: recompress(b, env.Codec(j.Args[0]), int(j.Args[1]))}
	case env.FindTime:
		return env.Done{Job: j.Job, Data: findTime(b, j.Args[0], j.Args[1])}
	default:
		panic(fmt.Sprintf("jobs: unknown kind %d", j.Kind))
	}
}

// recompress gives a batch that says the same in another codec, at a level.
func recompress(b record.Batch, to env.Codec, level int) []byte {
	plain, fault := codec.Decompress(b.Codec(), b.Records(), heldMax)
	if fault != codec.Sound {
		return nil
	}
	return b.WithRecords(to, codec.CompressLevel(to, plain, level))
}

// findTime gives offset and timestamp of the first record at or after both, or
// an empty answer.
func findTime(b record.Batch, time, offset int64) []byte {
	var s codec.Scratch
	walk := s.Records(b.Codec(), b.Records(), b.Count(), heldMax)
	for walk.Next() {
		at, t := b.BaseOffset()+int64(walk.OffsetDelta), b.FirstTimestamp()+walk.TimeDelta
		if b.LogAppendTime() {
			t = b.MaxTimestamp()
		}
		if t >= time && at >= offset {
			return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(at)), uint64(t))
		}
	}
	if fault, _ := walk.Fault(); fault != codec.Sound {
		return nil
	}
	return []byte{}
}
