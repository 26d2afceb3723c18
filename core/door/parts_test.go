package door

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

// drawFetch draws a Fetch answer, now and then with tagged fields.
func drawFetch(t *rapid.T) *kmsg.FetchResponse {
	r := kmsg.NewPtrFetchResponse()
	r.ThrottleMillis, r.ErrorCode, r.SessionID = rapid.Int32().Draw(t, "throttle"), rapid.Int16().Draw(t, "error"), rapid.Int32().Draw(t, "session")
	for range rapid.IntRange(0, 3).Draw(t, "topics") {
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic = rapid.StringMatching(`[a-z]{0,200}`).Draw(t, "name")
		copy(topic.TopicID[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		for range rapid.IntRange(0, 3).Draw(t, "partitions") {
			p := kmsg.NewFetchResponseTopicPartition()
			p.Partition, p.ErrorCode = rapid.Int32().Draw(t, "partition"), rapid.Int16().Draw(t, "partition error")
			p.HighWatermark, p.LastStableOffset, p.LogStartOffset = rapid.Int64().Draw(t, "hw"), rapid.Int64().Draw(t, "lso"), rapid.Int64().Draw(t, "start")
			p.PreferredReadReplica = rapid.Int32().Draw(t, "replica")
			if n := rapid.IntRange(-1, 2).Draw(t, "aborted"); n >= 0 {
				p.AbortedTransactions = make([]kmsg.FetchResponseTopicPartitionAbortedTransaction, n)
				for i := range p.AbortedTransactions {
					p.AbortedTransactions[i].ProducerID = rapid.Int64().Draw(t, "producer")
					p.AbortedTransactions[i].FirstOffset = rapid.Int64().Draw(t, "first")
				}
			}
			if n := rapid.SampledFrom([]int{-1, 0, 1, 126, 127, 128, 20_000}).Draw(t, "records"); n >= 0 {
				p.RecordBatches = bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, n)
			}
			switch rapid.IntRange(0, 20).Draw(t, "tag") {
			case 0:
				p.CurrentLeader.LeaderID = 1
			case 1:
				p.DivergingEpoch.EndOffset = 7
			case 2:
				p.SnapshotID.Epoch = 7
			}
			topic.Partitions = append(topic.Partitions, p)
		}
		r.Topics = append(r.Topics, topic)
	}
	if rapid.IntRange(0, 20).Draw(t, "brokers") == 0 {
		r.Brokers = append(r.Brokers, kmsg.NewFetchResponseBroker())
	}
	return r
}

func TestPartsAreWhatSealWrites(t *testing.T) {
	min, max, _, _ := Range(int16(kmsg.Fetch))
	rapid.Check(t, func(t *rapid.T) {
		var want, buf []byte
		var parts [][]byte
		for range rapid.IntRange(1, 3).Draw(t, "answers") {
			h := Header{Key: int16(kmsg.Fetch), Version: rapid.Int16Range(min, max).Draw(t, "version"), Correlation: rapid.Int32().Draw(t, "correlation")}
			r := drawFetch(t)
			want = Seal(want, h, r)
			parts, buf = SealParts(parts, buf, h, r)
			h = Header{Key: int16(kmsg.ListOffsets), Version: 7, Correlation: 5}
			want = Seal(want, h, kmsg.NewPtrListOffsetsResponse())
			parts, buf = SealParts(parts, buf, h, kmsg.NewPtrListOffsetsResponse())
		}
		require.Equal(t, want, bytes.Join(parts, nil))
	})
}

func TestPartsCopyNoRecords(t *testing.T) {
	r := kmsg.NewPtrFetchResponse()
	topic, p := kmsg.NewFetchResponseTopic(), kmsg.NewFetchResponseTopicPartition()
	p.RecordBatches = make([]byte, 1<<20)
	topic.Partitions = append(topic.Partitions, p)
	r.Topics = append(r.Topics, topic)
	parts, buf := SealParts(nil, nil, Header{Key: 1, Version: 13}, r)
	require.Len(t, parts, 3)
	require.Same(t, &p.RecordBatches[0], &parts[1][0])
	require.Less(t, len(buf), 200)
}
