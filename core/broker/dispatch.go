package broker

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
)

// onRequest sends a request to its family. The door has let in only keys and
// versions that are served.
func (b *Broker) onRequest(r env.Request, out *env.Outbox) {
	if b.conns[r.Conn] == nil {
		return // its Hangup has overtaken it
	}
	if b.phase != serving {
		b.silence(out, r.Conn, r.N, env.Close) // the driver opens its doors at Ready
		return
	}
	if b.crowded(r.Conn) && waitsForRoom(r.Body) {
		b.crowd = append(b.crowd, b.asOp(opRequest, r))
		return
	}
	b.dispatch(r, out)
}

// dispatch sends a request that there is room for to its family.
func (b *Broker) dispatch(r env.Request, out *env.Outbox) {
	switch req := r.Body.(type) {
	case *kmsg.ProduceRequest:
		b.onProduce(r, req, out)
	case *kmsg.FetchRequest:
		b.onFetch(r, req, out)
	case *kmsg.ListOffsetsRequest:
		b.onListOffsets(r, req, out)
	case *kmsg.MetadataRequest:
		b.onMetadata(r, req, out)
	case *kmsg.ApiVersionsRequest:
		b.reply(out, r.Conn, r.N, apiVersions(r, req))
	case *kmsg.FindCoordinatorRequest:
		b.reply(out, r.Conn, r.N, findCoordinator(req))
	case *kmsg.InitProducerIDRequest:
		b.onInitProducerID(r, req, out)
	case *kmsg.OffsetForLeaderEpochRequest:
		b.onOffsetForLeaderEpoch(r, req, out)
	case *kmsg.DeleteRecordsRequest:
		b.onDeleteRecords(r, req, out)
	case *kmsg.DescribeProducersRequest:
		b.onDescribeProducers(r, req, out)
	case *kmsg.DescribeLogDirsRequest:
		b.onDescribeLogDirs(r, req, out)
	case *kmsg.DescribeClusterRequest:
		b.onDescribeCluster(r, req, out)
	case *kmsg.DescribeTopicPartitionsRequest:
		b.onDescribeTopicPartitions(r, req, out)
	case *kmsg.DescribeConfigsRequest:
		b.onDescribeConfigs(r, req, out)
	case *kmsg.ListConfigResourcesRequest:
		b.onListConfigResources(r, req, out)
	case *kmsg.CreateTopicsRequest, *kmsg.DeleteTopicsRequest, *kmsg.CreatePartitionsRequest,
		*kmsg.AlterConfigsRequest, *kmsg.IncrementalAlterConfigsRequest:
		b.enqueueAdmin(r, out)
	default:
		panic(fmt.Sprintf("broker: the door let in a %T", r.Body))
	}
}
