package crash

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/orrery-log/orrery/interop/process"
	"github.com/orrery-log/orrery/linearizability"
)

// probe asks single requests, without a client's patience or its retries.
type probe struct {
	m    *machine
	c    *kgo.Client
	life *process.Node // that c is connected to
}

func (m *machine) probe() *probe { return &probe{m: m} }

// ask sends one request; its answer has to come within the time.
func (p *probe) ask(within time.Duration, req kmsg.Request) (kmsg.Response, error) {
	if p.life != p.m.node {
		p.c, p.life = p.m.client(kgo.MaxVersions(kversion.V2_5_0()), kgo.RequestRetries(0), kgo.RetryTimeout(0)), p.m.node
	}
	ctx, cancel := context.WithTimeout(p.m.t.Context(), within)
	defer cancel()
	return p.c.Broker(1).Request(ctx, req)
}

// produce sends one batch with one record and gives its offset and the error code.
// The broker has patience to write it, and the answer its time.
func (p *probe) produce(topic string, partition int32, id uint64, size int, acks int16, patience, within time.Duration) (offset int64, code int16, err error) {
	value := make([]byte, max(size, 8))
	binary.BigEndian.PutUint64(value, id)
	var r kmsg.Record
	r.Value = value
	r.Length = int32(len(r.AppendTo(nil)) - 1) // the length's own byte
	body := r.AppendTo(nil)
	batch := kmsg.RecordBatch{Length: int32(49 + len(body)), PartitionLeaderEpoch: -1, Magic: 2, ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1,
		FirstTimestamp: time.Now().UnixMilli(), MaxTimestamp: time.Now().UnixMilli(), NumRecords: 1, Records: body}
	raw := batch.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[17:], castagnoli(raw[21:]))
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acks, int32(patience.Milliseconds())
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	part := kmsg.NewProduceRequestTopicPartition()
	part.Partition, part.Records = partition, raw
	t.Partitions = append(t.Partitions, part)
	req.Topics = append(req.Topics, t)
	res, err := p.ask(within, req)
	if err != nil {
		return -1, 0, err
	}
	got := res.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
	return got.BaseOffset, got.ErrorCode, nil
}

// fetch reads from an offset: what is there, the code, and the high watermark.
func (p *probe) fetch(topic string, partition int32, offset int64, within time.Duration) (rs []linearizability.Record, code int16, hw int64, err error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 0, 0, 1<<20, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic = topic
	part := kmsg.NewFetchRequestTopicPartition()
	part.Partition, part.FetchOffset, part.PartitionMaxBytes = partition, offset, 1<<20
	t.Partitions = append(t.Partitions, part)
	req.Topics = append(req.Topics, t)
	res, err := p.ask(within, req)
	if err != nil {
		return nil, 0, 0, err
	}
	answer := res.(*kmsg.FetchResponse)
	if len(answer.Topics) != 1 || len(answer.Topics[0].Partitions) != 1 {
		return nil, 0, 0, fmt.Errorf("a fetch of one partition got %+v", answer)
	}
	got := answer.Topics[0].Partitions[0]
	for _, r := range records(got.RecordBatches) {
		if r.Offset >= offset {
			rs = append(rs, r)
		}
	}
	return rs, got.ErrorCode, got.HighWatermark, nil
}

// readBack reads a partition from 0 to an end, or to its watermark if that is -1.
// Offsets that are refused are stepped over and counted by their code.
func (p *probe) readBack(topic string, partition int32, end int64) (rs []linearizability.Record, refused map[string]int) {
	p.m.t.Helper()
	refused = map[string]int{}
	for offset := int64(0); offset != end; {
		got, code, hw, err := p.fetch(topic, partition, offset, 20*time.Second)
		require.NoError(p.m.t, err, "%s", p.m.node.Stderr())
		switch {
		case code != 0:
			require.Positive(p.m.t, end, "%s-%d: offset %d is refused: %s", topic, partition, offset, codeName(code))
			refused[codeName(code)]++
			offset++
		case len(got) > 0:
			rs = append(rs, got...)
			offset = got[len(got)-1].Offset + 1
			require.True(p.m.t, end < 0 || offset <= end, "%s-%d has more than %d", topic, partition, end)
		case offset == hw:
			return rs, refused
		default:
			p.m.t.Fatalf("%s-%d: nothing at %d, though the watermark is %d", topic, partition, offset, hw)
		}
	}
	return rs, refused
}

func codeName(code int16) string {
	if e := kerr.TypedErrorForCode(code); e != nil {
		return e.Message
	}
	return "NONE"
}
