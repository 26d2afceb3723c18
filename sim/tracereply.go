package sim

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
)

// traceReply tells the parts of an answer that a reader of a trace looks for.
func (w *world) traceReply(r *env.Reply) string {
	var b strings.Builder
	switch m := r.Body.(type) {
	case *kmsg.ProduceResponse:
		for i := range m.Topics {
			for k := range m.Topics[i].Partitions {
				p := &m.Topics[i].Partitions[k]
				fmt.Fprintf(&b, " [%s %d: error %d base %d]", m.Topics[i].Topic, p.Partition, p.ErrorCode, p.BaseOffset)
			}
		}
	case *kmsg.FetchResponse:
		for i := range m.Topics {
			for k := range m.Topics[i].Partitions {
				p := &m.Topics[i].Partitions[k]
				fmt.Fprintf(&b, " [%s %d: error %d hw %d start %d, %d bytes]", m.Topics[i].Topic, p.Partition, p.ErrorCode, p.HighWatermark, p.LogStartOffset, len(p.RecordBatches))
			}
		}
	case *kmsg.ListOffsetsResponse:
		for i := range m.Topics {
			for k := range m.Topics[i].Partitions {
				p := &m.Topics[i].Partitions[k]
				fmt.Fprintf(&b, " [%s %d: error %d offset %d time %d]", m.Topics[i].Topic, p.Partition, p.ErrorCode, p.Offset, p.Timestamp)
			}
		}
	}
	return b.String()
}

// traceRequest tells the same of a request.
func traceRequest(r kmsg.Request) string {
	var b strings.Builder
	switch m := r.(type) {
	case *kmsg.ProduceRequest:
		for i := range m.Topics {
			for k := range m.Topics[i].Partitions {
				p := &m.Topics[i].Partitions[k]
				fmt.Fprintf(&b, " acks %d [%s %d: %v]", m.Acks, m.Topics[i].Topic, p.Partition, record.Batch(p.Records))
			}
		}
	case *kmsg.FetchRequest:
		fmt.Fprintf(&b, " session %d/%d wait %d", m.SessionID, m.SessionEpoch, m.MaxWaitMillis)
		for i := range m.Topics {
			for k := range m.Topics[i].Partitions {
				p := &m.Topics[i].Partitions[k]
				fmt.Fprintf(&b, " [%s %d: from %d]", m.Topics[i].Topic, p.Partition, p.FetchOffset)
			}
		}
	}
	return b.String()
}
