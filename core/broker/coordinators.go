package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
)

// FindCoordinator: v1 asks by key type, v4 for many keys at once (KIP-699), v6
// for share groups (KIP-932).
//
// There are no coordinators in this release, and the answer says that they are
// not available. The API is there because librdkafka before 2.11 packs batches
// with lz4 only for a broker that knows FindCoordinator 0, and silently sends
// them unpacked to any other.

// The kinds of coordinators.
const (
	groupCoordinator int8 = iota
	transactionCoordinator
	shareCoordinator
)

func findCoordinator(req *kmsg.FindCoordinatorRequest) *kmsg.FindCoordinatorResponse {
	code, why := env.CoordinatorNotAvailable, "There are no coordinators in this release."
	if req.CoordinatorType < groupCoordinator || req.CoordinatorType > shareCoordinator {
		code, why = env.InvalidRequest, "There are coordinators of type 0, groups, 1, transactions, and 2, share groups."
	}
	res := req.ResponseKind().(*kmsg.FindCoordinatorResponse)
	if req.Version < 4 {
		res.ErrorCode, res.ErrorMessage, res.NodeID, res.Port = code, kmsg.StringPtr(why), -1, -1
		return res
	}
	// Each key is answered once, so that a small request can not ask for much memory.
	seen := map[string]bool{}
	for _, key := range req.CoordinatorKeys {
		if seen[key] {
			continue
		}
		seen[key] = true
		c := kmsg.NewFindCoordinatorResponseCoordinator()
		c.Key, c.ErrorCode, c.ErrorMessage, c.NodeID, c.Port = key, code, kmsg.StringPtr(why), -1, -1
		res.Coordinators = append(res.Coordinators, c)
	}
	return res
}
