package broker

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// adminRequest is `CONN delete TOPIC`, `CONN grow TOPIC PARTITIONS`,
// `CONN set TOPIC NAME VALUE`, `CONN metadata TOPIC`.
func (s *script) adminRequest(w []string) kmsg.Request {
	switch w[1] {
	case "delete":
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version, req.TopicNames = 5, []string{w[2]}
		return req
	case "grow":
		req := kmsg.NewPtrCreatePartitionsRequest()
		req.Version = 3
		t := kmsg.NewCreatePartitionsRequestTopic()
		_, err := fmt.Sscan(w[3], &t.Count)
		require.NoError(s.t, err, "%v", w)
		t.Topic = w[2]
		req.Topics = append(req.Topics, t)
		return req
	case "set":
		return incremental(kmsg.ConfigResourceTypeTopic, w[2], w[3], w[4])
	case "metadata":
		return metadataRequest(13, w[2])
	default:
		s.t.Fatalf("unknown request %v", w)
		return nil
	}
}

func (s *script) adminResponse(body kmsg.Response) string {
	switch res := body.(type) {
	case *kmsg.DeleteTopicsResponse:
		return fmt.Sprintf("delete error %d", res.Topics[0].ErrorCode)
	case *kmsg.CreatePartitionsResponse:
		return fmt.Sprintf("grow error %d", res.Topics[0].ErrorCode)
	case *kmsg.IncrementalAlterConfigsResponse:
		return fmt.Sprintf("set error %d", res.Resources[0].ErrorCode)
	case *kmsg.MetadataResponse:
		var parts []string
		for _, p := range res.Topics[0].Partitions {
			parts = append(parts, fmt.Sprintf("%d led by %d in epoch %d", p.Partition, p.Leader, p.LeaderEpoch))
		}
		return fmt.Sprintf("metadata error %d, [%s]", res.Topics[0].ErrorCode, strings.Join(parts, ", "))
	default:
		return fmt.Sprintf("%T", body)
	}
}
