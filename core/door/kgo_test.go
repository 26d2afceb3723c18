package door

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
	"github.com/orrery-log/orrery/core/record/codec"
)

// standIn answers a client through the door: just enough for it to produce.
type standIn struct {
	lock     sync.Mutex
	produced []env.Request
	failed   error
}

func (s *standIn) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var size [4]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(conn, frame); err != nil {
			return
		}
		h, r, err := Open(frame, DefaultLimits())
		if err != nil {
			s.lock.Lock()
			s.failed = err
			s.lock.Unlock()
			return
		}
		if _, err := conn.Write(Seal(nil, h, s.answer(r))); err != nil {
			return
		}
	}
}

func (s *standIn) answer(r env.Request) kmsg.Response {
	resp := r.Body.ResponseKind()
	switch resp := resp.(type) {
	case *kmsg.ApiVersionsResponse:
		for _, key := range Keys() {
			_, max, told, _ := Range(key)
			k := kmsg.NewApiVersionsResponseApiKey()
			k.ApiKey, k.MinVersion, k.MaxVersion = key, told, max
			resp.ApiKeys = append(resp.ApiKeys, k)
		}
	case *kmsg.MetadataResponse:
		broker := kmsg.NewMetadataResponseBroker()
		broker.NodeID, broker.Host, broker.Port = 1, "stand-in", 1
		resp.Brokers = append(resp.Brokers, broker)
		name := "t"
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic, topic.TopicID = &name, [16]byte{1}
		partition := kmsg.NewMetadataResponseTopicPartition()
		partition.Leader, partition.Replicas, partition.ISR = 1, []int32{1}, []int32{1}
		topic.Partitions = append(topic.Partitions, partition)
		resp.Topics = append(resp.Topics, topic)
	case *kmsg.InitProducerIDResponse:
		resp.ProducerID, resp.ProducerEpoch = 7, 0
	case *kmsg.ProduceResponse:
		s.lock.Lock()
		s.produced = append(s.produced, r)
		s.lock.Unlock()
		for _, t := range r.Body.(*kmsg.ProduceRequest).Topics {
			topic := kmsg.NewProduceResponseTopic()
			topic.Topic, topic.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				partition := kmsg.NewProduceResponseTopicPartition()
				partition.Partition = p.Partition
				topic.Partitions = append(topic.Partitions, partition)
			}
			resp.Topics = append(resp.Topics, topic)
		}
	}
	return resp
}

func TestBatchesOfARealClientAreTakenInEveryCodec(t *testing.T) {
	for c, compression := range []kgo.CompressionCodec{
		kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(),
	} {
		s := &standIn{}
		client, err := kgo.NewClient(
			kgo.SeedBrokers("stand-in:1"), kgo.DefaultProduceTopic("t"), kgo.ProducerBatchCompression(compression),
			kgo.Dialer(func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				go s.serve(ours)
				return theirs, nil
			}))
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		var sent []*kgo.Record
		for i := range 50 {
			sent = append(sent, &kgo.Record{
				Key: []byte("key"), Value: make([]byte, 100*i), Timestamp: time.UnixMilli(int64(1000 + i)),
				Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("v")}},
			})
		}
		require.NoError(t, client.ProduceSync(ctx, sent...).FirstErr())
		cancel()
		client.Close()

		s.lock.Lock()
		require.NoError(t, s.failed)
		var got []record.Record
		for _, r := range s.produced {
			require.Len(t, r.Batches, 1)
			require.Zero(t, r.Batches[0].Fault, "codec %d: %s", c, r.Batches[0].Why)
			require.Equal(t, env.Codec(c), r.Batches[0].Codec)
			b := record.Batch(r.Body.(*kmsg.ProduceRequest).Topics[0].Partitions[0].Records)
			require.Equal(t, int64(7), b.ProducerID())
			plain, fault := codec.Decompress(b.Codec(), b.Records(), 1<<20)
			require.Equal(t, codec.Sound, fault)
			records, ok := record.Parse(b, plain)
			require.True(t, ok)
			got = append(got, records...)
		}
		s.lock.Unlock()
		require.Len(t, got, len(sent))
		for i, r := range got {
			require.Equal(t, int64(1000+i), r.Time)
			require.Equal(t, sent[i].Value, r.Value)
			require.Equal(t, []record.Header{{Key: "h", Value: []byte("v")}}, r.Headers)
		}
	}
}
