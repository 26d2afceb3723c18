package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/metadata"
)

// DescribeCluster (KIP-700): v0 is flexible, v1 asks for brokers or controllers
// (KIP-919), v2 tells fenced brokers (KIP-1073).

// Bits of what a client may do (KIP-430). There is no access control in this
// release, so that is everything that makes sense for a topic, and for the cluster.
const (
	topicOperations   int32 = 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | 1<<10 | 1<<11
	clusterOperations int32 = 1<<5 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12
)

// Endpoint types of a DescribeCluster.
const (
	brokerEndpoints     int8 = 1
	controllerEndpoints int8 = 2
)

func (b *Broker) onDescribeCluster(r env.Request, req *kmsg.DescribeClusterRequest, out *env.Outbox) {
	b.reply(out, r.Conn, r.N, describeCluster(b.image, &b.cfg, b.conns[r.Conn].listener, req))
}

func describeCluster(m *metadata.Image, cfg *env.Config, listener string, req *kmsg.DescribeClusterRequest) *kmsg.DescribeClusterResponse {
	res := req.ResponseKind().(*kmsg.DescribeClusterResponse)
	switch req.EndpointType {
	case brokerEndpoints:
	case controllerEndpoints:
		res.ErrorCode = env.MismatchedEndpointType
		res.ErrorMessage = kmsg.StringPtr("The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER")
		return res
	default:
		res.ErrorCode = env.UnsupportedEndpointType
		res.ErrorMessage = kmsg.StringPtr("There are endpoints of type 1, brokers, and 2, controllers.")
		return res
	}
	res.ClusterID, res.ControllerID = cfg.ClusterID, cfg.NodeID
	for i := range m.Brokers {
		known := &m.Brokers[i]
		e, ok := endpoint(known, listener)
		if !ok || known.Fenced && !req.IncludeFencedBrokers {
			continue
		}
		n := kmsg.NewDescribeClusterResponseBroker()
		n.NodeID, n.Host, n.Port, n.Rack, n.IsFenced = known.ID, e.Host, int32(e.Port), rack(known), known.Fenced
		res.Brokers = append(res.Brokers, n)
	}
	if req.IncludeClusterAuthorizedOperations {
		res.ClusterAuthorizedOperations = clusterOperations
	}
	return res
}

// endpoint is where a client that came in by a listener reaches a broker: at its
// listener of the same name. A broker that has no such listener is told by its
// first: an address that may not be reached is better than no brokers at all, for
// which clients give up.
func endpoint(known *metadata.Broker, listener string) (metadata.Endpoint, bool) {
	for _, e := range known.Endpoints {
		if e.Listener == listener {
			return e, true
		}
	}
	if len(known.Endpoints) == 0 {
		return metadata.Endpoint{}, false
	}
	return known.Endpoints[0], true
}

func rack(known *metadata.Broker) *string {
	if known.Rack == "" {
		return nil
	}
	return kmsg.StringPtr(known.Rack)
}

// offline are the replicas on brokers that are not there.
func offline(m *metadata.Image, replicas []int32) []int32 {
	var gone []int32
	for _, id := range replicas {
		if known, ok := m.Broker(id); !ok || known.Fenced {
			gone = append(gone, id)
		}
	}
	return gone
}

// internalTopic: the brokers keep their own state there.
func internalTopic(name string) bool {
	return name == "__consumer_offsets" || name == "__transaction_state" || name == "__share_group_state"
}
