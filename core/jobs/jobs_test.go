package jobs

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
	"github.com/orrery-log/orrery/core/record/codec"
)

func anyBatch(t *rapid.T) (record.Batch, []record.Record) {
	var records []record.Record
	base := rapid.Int64Range(0, 1<<40).Draw(t, "base")
	for i := range rapid.IntRange(1, 20).Draw(t, "count") {
		records = append(records, record.Record{
			Offset: base + int64(i),
			Time:   rapid.Int64Range(0, 1000).Draw(t, "time"),
			Value:  rapid.SliceOf(rapid.Byte()).Draw(t, "value"),
		})
	}
	s := record.Spec{Base: base, Epoch: 3, ProducerID: 7, ProducerEpoch: 2, Sequence: 9, Transactional: rapid.Bool().Draw(t, "transactional")}
	b := record.Build(s, records)
	if rapid.Bool().Draw(t, "stamped") {
		b.Stamp(5000)
		for i := range records {
			records[i].Time = 5000
		}
	}
	c := env.Codec(rapid.IntRange(0, 4).Draw(t, "codec"))
	return b.WithRecords(c, codec.Compress(c, b.Records())), records
}

func TestRecompressingChangesTheCodecAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, records := anyBatch(t)
		to := env.Codec(rapid.IntRange(0, 4).Draw(t, "to"))
		args := [2]int64{int64(to), rapid.Int64Range(0, 9).Draw(t, "level")}
		before := bytes.Clone(b)
		done := Run(env.Job{Job: 5, Kind: env.Recompress, Data: b, Args: args})
		require.Equal(t, env.JobID(5), done.Job)
		require.Equal(t, before, []byte(b), "the input stays as it is")
		got, rest, ok := record.Next(done.Data)
		require.True(t, ok)
		require.Empty(t, rest)
		require.True(t, got.Sound())
		require.Equal(t, to, got.Codec())
		plain, fault := codec.Decompress(to, got.Records(), 1<<20)
		require.Equal(t, codec.Sound, fault)
		same, ok := record.Parse(got, plain)
		require.True(t, ok)
		require.Equal(t, records, same)

		// Everything but length, checksum and codec bits is the same byte for byte.
		header := bytes.Clone(got[:record.HeaderSize])
		copy(header[8:12], b[8:12])
		copy(header[17:21], b[17:21])
		header[22] = header[22]&^7 | b[22]&7
		require.Equal(t, []byte(b[:record.HeaderSize]), header)

		again := Run(env.Job{Job: 5, Kind: env.Recompress, Data: b, Args: args})
		require.Equal(t, done, again, "a job is a function of its bytes")
	})
}

func TestFindTimeFindsTheFirstRecordAtOrAfterBoth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, records := anyBatch(t)
		time := rapid.Int64Range(-1, 6000).Draw(t, "from time")
		offset := b.BaseOffset() + rapid.Int64Range(-1, 21).Draw(t, "from offset")
		want := []byte{}
		for _, r := range records {
			if r.Time >= time && r.Offset >= offset {
				want = binary.BigEndian.AppendUint64(nil, uint64(r.Offset))
				want = binary.BigEndian.AppendUint64(want, uint64(r.Time))
				break
			}
		}
		require.Equal(t, env.Done{Job: 1, Data: want}, Run(env.Job{Job: 1, Kind: env.FindTime, Data: b, Args: [2]int64{time, offset}}))
	})
}

func TestAnImpossibleInputGivesNoData(t *testing.T) {
	sound := record.Build(record.NoProducer(), []record.Record{{Time: 1, Value: []byte("v")}})
	broken := sound.WithRecords(env.Zstd, []byte("no zstd"))
	bomb := sound.WithRecords(env.Zstd, codec.Compress(env.Zstd, make([]byte, heldMax+1)))
	for name, data := range map[string][]byte{
		"nothing": nil, "half a batch": sound[:70], "bytes behind": append(bytes.Clone(sound), 0),
		"broken": broken, "larger than a job may hold": bomb,
	} {
		require.Nil(t, Run(env.Job{Kind: env.Recompress, Data: data}).Data, name)
		require.Nil(t, Run(env.Job{Kind: env.FindTime, Data: data, Args: [2]int64{1 << 60}}).Data, name)
	}
}

func TestAnUnknownJobIsOurBug(t *testing.T) {
	sound := record.Build(record.NoProducer(), []record.Record{{Time: 1}})
	require.Panics(t, func() { Run(env.Job{Kind: 99, Data: sound}) })
}
