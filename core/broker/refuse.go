package broker

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/controller"
	"github.com/orrery-log/orrery/core/metadata"
)

// refuseAdmin answers every part of an admin request with one error, and decides
// nothing: no records.
func (b *Broker) refuseAdmin(req kmsg.Request, a *answer, code int16) []metadata.Record {
	why := controller.Problem{Code: code, Message: "The broker does not change the metadata now."}
	switch req := req.(type) {
	case *kmsg.CreateTopicsRequest:
		var parts []controller.CreatedTopic
		for i := range req.Topics {
			parts = append(parts, controller.CreatedTopic{Name: req.Topics[i].Topic, Problem: why})
		}
		a.createTopics = createTopicsResponse(req, parts, b.layers())
	case *kmsg.DeleteTopicsRequest:
		var parts []controller.DeletedTopic
		for _, ref := range topicRefs(req) {
			parts = append(parts, controller.DeletedTopic{Ref: ref, Problem: why})
		}
		a.deleteTopics = deleteTopicsResponse(req, parts)
	case *kmsg.CreatePartitionsRequest:
		var parts []controller.GrownTopic
		for i := range req.Topics {
			parts = append(parts, controller.GrownTopic{Topic: req.Topics[i].Topic, Problem: why})
		}
		a.createPartitions = createPartitionsResponse(req, parts)
	case *kmsg.AlterConfigsRequest:
		var parts []controller.Altered
		for i := range req.Resources {
			parts = append(parts, controller.Altered{Type: int8(req.Resources[i].ResourceType), Name: req.Resources[i].ResourceName, Problem: why})
		}
		a.alterConfigs = alterConfigsResponse(req, parts)
	case *kmsg.IncrementalAlterConfigsRequest:
		var parts []controller.Altered
		for i := range req.Resources {
			parts = append(parts, controller.Altered{Type: int8(req.Resources[i].ResourceType), Name: req.Resources[i].ResourceName, Problem: why})
		}
		a.incrementalAlter = incrementalAlterResponse(req, parts)
	default:
		panic(fmt.Sprintf("broker: no refusal for %T", req))
	}
	return nil
}
