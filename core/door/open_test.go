package door

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
	"github.com/orrery-log/orrery/core/record/codec"
)

func produceFrame(version int16, batches ...[]byte) []byte {
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(version)
	req.Acks = -1
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic = "t"
	for i, b := range batches {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = int32(i), b
		topic.Partitions = append(topic.Partitions, p)
	}
	req.Topics = append(req.Topics, topic)
	id := "client"
	return EncodeRequest(nil, 7, &id, req)[4:]
}

func sampleRecords() []record.Record {
	return []record.Record{
		{Time: 1000, Key: []byte("a"), Value: make([]byte, 5000)},
		{Time: 3000, Key: []byte("b"), Value: []byte("two"), Headers: []record.Header{{Key: "h", Value: nil}, {Key: "", Value: []byte("x")}}},
		{Time: 3000, Value: nil},
		{Time: 2000, Key: []byte{}, Value: []byte{}},
	}
}

func compressed(c env.Codec, b record.Batch) record.Batch {
	return b.WithRecords(c, codec.Compress(c, b.Records()))
}

func TestSoundBatchesAreDescribed(t *testing.T) {
	for _, c := range []env.Codec{env.None, env.Gzip, env.Snappy, env.LZ4, env.Zstd} {
		b := compressed(c, record.Build(record.NoProducer(), sampleRecords()))
		h, r, err := Open(produceFrame(11, b, append(b[:len(b):len(b)], 1, 2, 3)), DefaultLimits())
		require.NoError(t, err)
		require.Equal(t, Header{Key: 0, Version: 11, Correlation: 7}, h)
		require.Equal(t, "client", r.ClientID)
		require.Len(t, r.Batches, 2)
		want := env.BatchInfo{Codec: c, Count: 4, FirstTime: 1000, MinTime: 1000, MaxTime: 3000, MaxTimeAt: 1, Keyless: true}
		require.Equal(t, want, r.Batches[0])
		require.Equal(t, want, r.Batches[1], "bytes behind a batch are dropped")
		for _, p := range r.Body.(*kmsg.ProduceRequest).Topics[0].Partitions {
			require.Equal(t, []byte(b), p.Records)
		}
	}
}
