package door

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
	"github.com/orrery-log/orrery/core/record/codec"
)

// with is a copy of b after edit, with a right checksum.
func with(b record.Batch, edit func(b record.Batch)) record.Batch {
	b = bytes.Clone(b)
	edit(b)
	b.Seal()
	return b
}

func put16(at int, v int16) func(record.Batch) {
	return func(b record.Batch) { binary.BigEndian.PutUint16(b[at:], uint16(v)) }
}

func put32(at int, v int32) func(record.Batch) {
	return func(b record.Batch) { binary.BigEndian.PutUint32(b[at:], uint32(v)) }
}

func put64(at int, v int64) func(record.Batch) {
	return func(b record.Batch) { binary.BigEndian.PutUint64(b[at:], uint64(v)) }
}

// plainBatch is a batch of `count` records whose bytes are given.
func plainBatch(count int32, records ...byte) record.Batch {
	b := record.Build(record.NoProducer(), []record.Record{{Time: 1}}).WithRecords(env.None, records)
	return with(b, func(b record.Batch) { put32(57, count)(b); put32(23, count-1)(b) })
}

// faultCase is one way a producer's bytes for a partition can be, and the code it gets.
type faultCase struct {
	name    string
	version int16
	data    []byte
	want    int16
}

func faultCases() []faultCase {
	sound := record.Build(record.NoProducer(), sampleRecords())
	idempotent := func(transactional bool) record.Batch {
		return record.Build(record.Spec{Epoch: -1, ProducerID: 7, Transactional: transactional}, sampleRecords())
	}
	unsealed := func(edit func(b record.Batch)) record.Batch {
		b := bytes.Clone(sound)
		edit(b)
		return b
	}
	framedBadBlock := append(codec.Compress(env.Snappy, nil), 0, 0, 0, 4, 9, 9, 9, 9)
	huge := s2.EncodeSnappy(nil, make([]byte, 3<<20))
	return []faultCase{
		{"null records", 11, nil, env.InvalidRecord},
		{"no bytes", 11, []byte{}, env.InvalidRecord},
		{"a wrong checksum", 11, unsealed(func(b record.Batch) { b[len(b)-1]++ }), env.CorruptMessage},
		{"a checksum field that is wrong", 11, unsealed(func(b record.Batch) { b[17]++ }), env.CorruptMessage},
		{"magic 3", 11, unsealed(func(b record.Batch) { b[16] = 3 }), env.CorruptMessage},
		{"magic -1", 11, unsealed(func(b record.Batch) { b[16] = 0xff }), env.CorruptMessage},
		{"magic 0", 11, unsealed(func(b record.Batch) { b[16] = 0 }), env.InvalidRecord},
		{"magic 1", 11, unsealed(func(b record.Batch) { b[16] = 1 }), env.InvalidRecord},
		{"a length beyond the bytes", 11, unsealed(put32(8, int32(len(sound)))), env.InvalidRecord},
		{"an absurd length", 11, unsealed(put32(8, 1<<31-1)), env.CorruptMessage},
		{"a negative length", 11, unsealed(put32(8, -1)), env.CorruptMessage},
		{"a length of 13", 11, unsealed(put32(8, 13)), env.CorruptMessage},
		{"a length short of a header", 11, unsealed(put32(8, 48)), env.CorruptMessage},
		{"a length short of the records", 11, unsealed(put32(8, int32(len(sound)-13))), env.CorruptMessage},
		{"eleven bytes", 11, sound[:11], env.InvalidRecord},
		{"half a batch", 11, sound[:len(sound)/2], env.InvalidRecord},
		{"two batches", 11, append(bytes.Clone(sound), sound...), env.InvalidRecord},
		{"a broken batch behind", 11, append(bytes.Clone(sound), unsealed(put32(8, 1))...), env.CorruptMessage},
		{"a base offset", 11, with(sound, put64(0, 1)), env.InvalidRecord},
		{"no records", 11, with(sound, func(b record.Batch) { put32(57, 0)(b); put32(23, -1)(b) }), env.InvalidRecord},
		{"a negative count", 11, with(sound, put32(57, -1)), env.InvalidRecord},
		{"a count above the last offset delta", 11, with(sound, put32(57, 5)), env.InvalidRecord},
		{"a last offset delta above the count", 11, with(sound, put32(23, 4)), env.InvalidRecord},
		{"the largest last offset delta", 11, with(sound, put32(23, 1<<31-1)), env.InvalidRecord},
		{"more records announced than there are", 11, with(sound, func(b record.Batch) { put32(57, 5)(b); put32(23, 4)(b) }), env.InvalidRecord},
		{"fewer records announced than there are", 11, with(sound, func(b record.Batch) { put32(57, 3)(b); put32(23, 2)(b) }), env.InvalidRecord},
		{"the control bit", 11, with(sound, put16(21, 0x20)), env.InvalidRecord},
		{"the delete horizon bit", 11, with(sound, put16(21, 0x40)), env.InvalidRecord},
		{"a producer id without a sequence", 11, with(idempotent(false), put32(53, -1)), env.InvalidRecord},
		{"a producer id without an epoch", 11, with(idempotent(false), put16(51, -1)), env.InvalidRecord},
		{"a transaction without a producer id", 11, with(sound, put16(21, 0x10)), env.InvalidRecord},
		{"a transaction", 11, idempotent(true), 0},
		{"an idempotent batch", 11, idempotent(false), 0},
		{"the append time bit", 11, with(sound, put16(21, 0x08)), 0},
		{"a leader epoch", 11, with(sound, put32(12, 5)), 0},
		{"undefined attributes", 11, with(sound, put16(21, 0x100)), 0},
		{"zstd before Produce 7", 6, compressed(env.Zstd, sound), env.UnsupportedCompressionType},
		{"zstd since Produce 7", 7, compressed(env.Zstd, sound), 0},
		{"lz4 in Produce 3", 3, compressed(env.LZ4, sound), 0},
		{"codec 5", 11, with(sound, put16(21, 5)), env.CorruptMessage},
		{"codec 7", 11, with(sound, put16(21, 7)), env.CorruptMessage},
		{"gzip that is none", 11, with(sound, put16(21, int16(env.Gzip))), env.CorruptMessage},
		{"snappy that is none", 11, with(sound, put16(21, int16(env.Snappy))), env.CorruptMessage},
		{"lz4 that is none", 11, with(sound, put16(21, int16(env.LZ4))), env.CorruptMessage},
		{"zstd that is none", 11, with(sound, put16(21, int16(env.Zstd))), env.CorruptMessage},
		{"a broken framed block", 11, sound.WithRecords(env.Snappy, framedBadBlock), env.CorruptMessage},
		{"an offset delta twice", 11, plainBatch(2, 12, 0, 0, 0, 1, 1, 0, 12, 0, 0, 0, 1, 1, 0), env.InvalidRecord},
		{"offset deltas with a gap", 11, plainBatch(2, 12, 0, 0, 0, 1, 1, 0, 12, 0, 0, 4, 1, 1, 0), env.InvalidRecord},
		{"offset deltas from 1", 11, plainBatch(1, 12, 0, 0, 2, 1, 1, 0), env.InvalidRecord},
		{"one record with null key and value", 11, plainBatch(1, 12, 0, 0, 0, 1, 1, 0), 0},
		{"a record of negative length", 11, plainBatch(1, 1, 0, 0, 0, 1, 1, 0), env.InvalidRecord},
		{"a record longer than its fields", 11, plainBatch(1, 14, 0, 0, 0, 1, 1, 0, 0), env.InvalidRecord},
		{"a record shorter than its fields", 11, plainBatch(1, 10, 0, 0, 0, 1, 1, 0), env.InvalidRecord},
		{"a record longer than the batch", 11, plainBatch(1, 100, 0, 0, 0, 1, 1, 0), env.InvalidRecord},
		{"bytes behind the last record", 11, plainBatch(1, 12, 0, 0, 0, 1, 1, 0, 0), env.InvalidRecord},
		{"a key length of -2", 11, plainBatch(1, 12, 0, 0, 0, 3, 1, 0), env.InvalidRecord},
		{"a negative header count", 11, plainBatch(1, 12, 0, 0, 0, 1, 1, 1), env.InvalidRecord},
		{"a header with a null key", 11, plainBatch(1, 16, 0, 0, 0, 1, 1, 2, 1, 1), env.InvalidRecord},
		{"a header with a null value", 11, plainBatch(1, 16, 0, 0, 0, 1, 1, 2, 0, 1), 0},
		{"more headers than bytes", 11, plainBatch(1, 14, 0, 0, 0, 1, 1, 100, 0), env.InvalidRecord},
		{"an endless varint", 11, plainBatch(1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255), env.CorruptMessage},
		{"an endless varlong", 11, plainBatch(1, 24, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255), env.CorruptMessage},
		{"a block larger than may be held", 11, sound.WithRecords(env.Snappy, huge), env.MessageTooLarge},
	}
}

func TestEveryFaultHasItsCode(t *testing.T) {
	sound := record.Build(record.NoProducer(), sampleRecords())
	for _, c := range faultCases() {
		l := DefaultLimits()
		l.Decompressed = 2 << 20
		_, r, err := Open(produceFrame(c.version, sound, c.data, sound), l)
		require.NoError(t, err, c.name)
		require.Len(t, r.Batches, 3, c.name)
		require.Equal(t, c.want, r.Batches[1].Fault, "%s: %s", c.name, r.Batches[1].Why)
		require.Equal(t, c.want == 0, r.Batches[1].Why == "", c.name)
		require.Zero(t, r.Batches[0].Fault, "%s: the partition before is untouched", c.name)
		require.Zero(t, r.Batches[2].Fault, "%s: the partition behind is untouched", c.name)
	}
}

func TestAppendTimeBatchesOfClientsAreReadByTheirOwnClock(t *testing.T) {
	b := with(record.Build(record.NoProducer(), sampleRecords()), put16(21, 0x08))
	_, r, err := Open(produceFrame(11, b), DefaultLimits())
	require.NoError(t, err)
	require.Equal(t, int64(1000), r.Batches[0].FirstTime, "the bit will be cleared, and then the records' own times count")
}

// What readers and retention trust is the header, so it is put right, as Kafka does.
func TestAWrongLargestTimestampIsCorrected(t *testing.T) {
	right := record.Build(record.NoProducer(), sampleRecords())
	for _, wrong := range []int64{-1, 5, 1 << 60} {
		_, r, err := Open(produceFrame(11, with(right, put64(35, wrong))), DefaultLimits())
		require.NoError(t, err)
		require.Zero(t, r.Batches[0].Fault)
		require.Equal(t, []byte(right), r.Body.(*kmsg.ProduceRequest).Topics[0].Partitions[0].Records)
	}
}

// anyRecords draws what a producer may send.
func anyRecords(t *rapid.T) []record.Record {
	var records []record.Record
	field := rapid.OneOf(rapid.Just([]byte(nil)), rapid.SliceOfN(rapid.Byte(), 0, 400))
	for range rapid.IntRange(1, 30).Draw(t, "count") {
		r := record.Record{Time: rapid.Int64Range(-1, 1<<50).Draw(t, "time"), Key: field.Draw(t, "key"), Value: field.Draw(t, "value")}
		for range rapid.IntRange(0, 2).Draw(t, "headers") {
			r.Headers = append(r.Headers, record.Header{Key: rapid.String().Draw(t, "name"), Value: field.Draw(t, "header")})
		}
		records = append(records, r)
	}
	return records
}

func TestAnyProducersBatchIsTakenAndDescribed(t *testing.T) {
	var s Scratch
	rapid.Check(t, func(t *rapid.T) {
		records := anyRecords(t)
		c := env.Codec(rapid.IntRange(0, 4).Draw(t, "codec"))
		b := compressed(c, record.Build(record.NoProducer(), records))
		want := env.BatchInfo{Codec: c, Count: int32(len(records)), FirstTime: records[0].Time, MinTime: -1, MaxTime: -1}
		for i, r := range records {
			if r.Time > want.MaxTime {
				want.MaxTime, want.MaxTimeAt = r.Time, int32(i)
			}
			if r.Time != -1 && (want.MinTime == -1 || r.Time < want.MinTime) {
				want.MinTime = r.Time
			}
			want.Keyless = want.Keyless || r.Key == nil
		}
		_, r, err := s.Open(produceFrame(11, b), DefaultLimits())
		require.NoError(t, err)
		require.Equal(t, []env.BatchInfo{want}, r.Batches)
	})
}

// A byte that is not covered by the checksum is the leader epoch, which the
// broker writes itself, or part of the base offset, which must be 0.
func TestNoByteOfABatchCanChangeUnseen(t *testing.T) {
	var s Scratch
	for c := env.None; c <= env.Zstd; c++ {
		b := compressed(c, record.Build(record.NoProducer(), sampleRecords()))
		if c == env.None { // its many zeros say nothing new
			b = record.Build(record.NoProducer(), sampleRecords()[1:])
		}
		for at := range b {
			for _, flip := range []byte{1, 0x80, 0xff} {
				mutant := bytes.Clone(b)
				mutant[at] ^= flip
				info := s.verifyProduced(mutant, 11, DefaultLimits())
				require.Equal(t, at >= 12 && at < 16, info.Fault == 0, "codec %d byte %d", c, at)
			}
		}
	}
}

// With a right checksum a mutant may be taken, but then it is what it says.
func TestATakenMutantIsWhatItSays(t *testing.T) {
	var s Scratch
	for c := env.None; c <= env.Zstd; c++ {
		b := compressed(c, record.Build(record.NoProducer(), sampleRecords()[1:]))
		for at := 16; at < len(b); at++ {
			for _, flip := range []byte{1, 2, 0x80, 0xff} {
				mutant := bytes.Clone(b)
				mutant[at] ^= flip
				record.Batch(mutant).Seal()
				checkTaken(t, mutant, s.verifyProduced(mutant, 11, DefaultLimits()))
			}
		}
	}
}

// checkTaken compares a BatchInfo with the records as the plain parser reads them.
func checkTaken(t require.TestingT, data []byte, info env.BatchInfo) {
	if info.Fault != 0 {
		return
	}
	b, _, ok := record.Next(data)
	require.True(t, ok)
	plain, fault := codec.Decompress(b.Codec(), b.Records(), 1<<26)
	if fault == codec.Huge {
		return
	}
	require.Equal(t, codec.Sound, fault)
	if b.LogAppendTime() {
		b = with(b, func(b record.Batch) { b[22] &^= 0x08 })
	}
	records, ok := record.Parse(b, plain)
	require.True(t, ok)
	want := env.BatchInfo{Codec: b.Codec(), Count: int32(len(records)), FirstTime: records[0].Time, MinTime: -1, MaxTime: -1, Transaction: b.Transactional()}
	for i, r := range records {
		require.Equal(t, int64(i), r.Offset)
		if r.Time > want.MaxTime {
			want.MaxTime, want.MaxTimeAt = r.Time, int32(i)
		}
		if r.Time != -1 && (want.MinTime == -1 || r.Time < want.MinTime) {
			want.MinTime = r.Time
		}
		want.Keyless = want.Keyless || r.Key == nil
	}
	require.Equal(t, want, info)
}

func TestStoredBatchesAreVerifiedBackToBack(t *testing.T) {
	var s Scratch
	var data []byte
	var want []env.BatchInfo
	for i := range 3 {
		b := compressed(env.Codec(i), record.Build(record.NoProducer(), sampleRecords()))
		b.Place(int64(100*i), 3)
		data = append(data, b...)
		want = append(want, env.BatchInfo{Codec: env.Codec(i), Count: 4, FirstTime: 1000, MinTime: 1000, MaxTime: 3000, MaxTimeAt: 1, Keyless: true})
	}
	require.Equal(t, want, s.VerifyBatches(nil, data, DefaultLimits()))
	require.Equal(t, want[:2], s.VerifyBatches(nil, data[:len(data)-1], DefaultLimits()), "the last one is torn")

	gaps := with(plainBatch(2, 12, 0, 0, 2, 1, 1, 0, 12, 0, 4, 10, 1, 1, 0), put32(23, 9))
	stamped := with(gaps, put16(21, 0x08))
	empty := with(plainBatch(0), put32(23, 9))
	control := with(plainBatch(1, 12, 0, 0, 0, 1, 1, 0), put16(21, 0x20))
	got := s.VerifyBatches(nil, bytes.Join([][]byte{gaps, stamped, empty, control}, nil), DefaultLimits())
	require.Equal(t, []env.BatchInfo{
		{Count: 2, FirstTime: 1, MinTime: 1, MaxTime: 3, MaxTimeAt: 5, Keyless: true},
		{Count: 2, FirstTime: 1, MinTime: 1, MaxTime: 1, MaxTimeAt: 1, Keyless: true},
		{MinTime: -1, MaxTime: -1},
		{Count: 1, FirstTime: 1, MinTime: 1, MaxTime: 1, Keyless: true},
	}, got)

	broken := append(bytes.Clone(data), data...)
	broken[len(data)+90]++
	infos := s.VerifyBatches(nil, broken, DefaultLimits())
	require.Len(t, infos, 4, "what follows a fault is not looked at")
	require.Equal(t, env.CorruptMessage, infos[3].Fault)

	backwards := with(plainBatch(2, 12, 0, 0, 10, 1, 1, 0, 12, 0, 4, 2, 1, 1, 0), put32(23, 9))
	require.Equal(t, (env.InvalidRecord), s.VerifyBatches(nil, backwards, DefaultLimits())[0].Fault)
}

func TestAProduceHasOneBatchInfoForEachPartition(t *testing.T) {
	sound := record.Build(record.NoProducer(), sampleRecords())
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(13)
	for range 3 {
		topic := kmsg.NewProduceRequestTopic()
		for p := range int32(2) {
			part := kmsg.NewProduceRequestTopicPartition()
			part.Partition = p
			if p == 1 {
				part.Records = sound
			}
			topic.Partitions = append(topic.Partitions, part)
		}
		req.Topics = append(req.Topics, topic)
	}
	_, r, err := Open(EncodeRequest(nil, 1, nil, req)[4:], DefaultLimits())
	require.NoError(t, err)
	require.Len(t, r.Batches, 6)
	for i, info := range r.Batches {
		require.Equal(t, i%2 == 1, info.Fault == 0)
	}
}
