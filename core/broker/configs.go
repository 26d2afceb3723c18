package broker

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/config"
	"github.com/orrery-log/orrery/core/controller"
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/metadata"
)

// AlterConfigs: v2 is flexible. It states a resource's configs whole.
// IncrementalAlterConfigs (KIP-339): v1 is flexible. Clients since Kafka 4 send only this one.

func (b *Broker) decideAlterConfigs(req *kmsg.AlterConfigsRequest, a *answer) []metadata.Record {
	alterations := make([]controller.Alteration, 0, len(req.Resources))
	for i := range req.Resources {
		r := &req.Resources[i]
		alt := controller.Alteration{Type: int8(r.ResourceType), Name: r.ResourceName, Replace: true}
		for _, c := range r.Configs {
			value, null := nullable(c.Value)
			alt.Configs = append(alt.Configs, controller.ConfigChange{Name: c.Name, Value: value, Null: null, Op: controller.OpSet})
		}
		alterations = append(alterations, alt)
	}
	records, altered := controller.AlterConfigs(b.deciding(), alterations, req.ValidateOnly)
	a.alterConfigs = alterConfigsResponse(req, altered)
	return records
}

func alterConfigsResponse(req *kmsg.AlterConfigsRequest, altered []controller.Altered) *kmsg.AlterConfigsResponse {
	res := req.ResponseKind().(*kmsg.AlterConfigsResponse)
	for _, c := range altered {
		r := kmsg.NewAlterConfigsResponseResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceType(c.Type), c.Name
		r.ErrorCode, r.ErrorMessage = c.Problem.Code, message(c.Problem)
		res.Resources = append(res.Resources, r)
	}
	return res
}

func (b *Broker) decideIncrementalAlterConfigs(req *kmsg.IncrementalAlterConfigsRequest, a *answer) []metadata.Record {
	alterations := make([]controller.Alteration, 0, len(req.Resources))
	for i := range req.Resources {
		r := &req.Resources[i]
		alt := controller.Alteration{Type: int8(r.ResourceType), Name: r.ResourceName}
		for _, c := range r.Configs {
			value, null := nullable(c.Value)
			alt.Configs = append(alt.Configs, controller.ConfigChange{Name: c.Name, Value: value, Null: null, Op: controller.Op(c.Op)})
		}
		alterations = append(alterations, alt)
	}
	records, altered := controller.AlterConfigs(b.deciding(), alterations, req.ValidateOnly)
	a.incrementalAlter = incrementalAlterResponse(req, altered)
	return records
}

func incrementalAlterResponse(req *kmsg.IncrementalAlterConfigsRequest, altered []controller.Altered) *kmsg.IncrementalAlterConfigsResponse {
	res := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	for _, c := range altered {
		r := kmsg.NewIncrementalAlterConfigsResponseResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceType(c.Type), c.Name
		r.ErrorCode, r.ErrorMessage = c.Problem.Code, message(c.Problem)
		res.Resources = append(res.Resources, r)
	}
	return res
}

// ListConfigResources: v0 lists client metrics only (KIP-714), v1 any types (KIP-1142).

func (b *Broker) onListConfigResources(r env.Request, req *kmsg.ListConfigResourcesRequest, out *env.Outbox) {
	b.reply(out, r.Conn, r.N, listConfigResources(b.image, req))
}

// Resource types that have no configs in this release, and are known.
const (
	brokerLogger  int8 = 8
	clientMetrics int8 = 16
	groupConfig   int8 = 32
)

func listConfigResources(m *metadata.Image, req *kmsg.ListConfigResourcesRequest) *kmsg.ListConfigResourcesResponse {
	res := req.ResponseKind().(*kmsg.ListConfigResourcesResponse)
	types := req.ResourceTypes
	switch {
	case req.Version == 0:
		types = []int8{clientMetrics}
	case len(types) == 0:
		types = []int8{int8(metadata.TopicResource), int8(metadata.BrokerResource)}
	}
	seen := map[int8]bool{}
	for _, t := range types {
		if seen[t] {
			continue
		}
		seen[t] = true
		switch t {
		case int8(metadata.TopicResource):
			for _, topic := range m.Topics {
				res.ConfigResources = append(res.ConfigResources, configResource(t, topic.Name))
			}
		case int8(metadata.BrokerResource):
			for i := range m.Brokers {
				res.ConfigResources = append(res.ConfigResources, configResource(t, strconv.Itoa(int(m.Brokers[i].ID))))
			}
		case brokerLogger, clientMetrics, groupConfig: // there are none
		default:
			res.ErrorCode, res.ConfigResources = env.UnsupportedVersion, nil
			return res
		}
	}
	return res
}

func configResource(t int8, name string) kmsg.ListConfigResourcesResponseConfigResource {
	r := kmsg.NewListConfigResourcesResponseConfigResource()
	r.Name, r.Type = name, t
	return r
}

// DescribeConfigs: v1 has sources and synonyms (KIP-226), v2 throttles, v3 has
// types and documentation (KIP-569), v4 is flexible.

func (b *Broker) onDescribeConfigs(r env.Request, req *kmsg.DescribeConfigsRequest, out *env.Outbox) {
	b.reply(out, r.Conn, r.N, describeConfigs(b.image, b.layers(), b.cfg.NodeID, req))
}

// describeConfigs answers each resource once, however often it is asked: a small
// request could otherwise ask for any amount of memory.
func describeConfigs(m *metadata.Image, layers config.Layers, node int32, req *kmsg.DescribeConfigsRequest) *kmsg.DescribeConfigsResponse {
	res := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	seen := map[metadata.Resource]bool{}
	for i := range req.Resources {
		asked := &req.Resources[i]
		id := metadata.Resource{Type: metadata.ResourceType(asked.ResourceType), Name: asked.ResourceName}
		if seen[id] {
			continue
		}
		seen[id] = true
		r := kmsg.NewDescribeConfigsResponseResource()
		r.ResourceType, r.ResourceName, r.ErrorMessage = asked.ResourceType, asked.ResourceName, kmsg.StringPtr("")
		configs, problem := describeResource(m, layers, node, id)
		if problem.None() {
			r.Configs = chosen(configs, asked.ConfigNames, req)
		} else {
			r.ErrorCode, r.ErrorMessage = problem.Code, message(problem)
		}
		res.Resources = append(res.Resources, r)
	}
	return res
}

// described is one config of a resource.
type described struct {
	setting  *config.Setting
	resolved config.Resolved
	readOnly bool
}

func describeResource(m *metadata.Image, layers config.Layers, node int32, id metadata.Resource) ([]described, controller.Problem) {
	switch id.Type {
	case metadata.TopicResource:
		if p := controller.LegalName(id.Name); !p.None() {
			return nil, p
		}
		if m.Topic(id.Name) == nil {
			return nil, controller.Problem{Code: env.UnknownTopicOrPartition, Message: "This server does not host this topic-partition."}
		}
		return describeTopicConfigs(m.TopicConfigs(id.Name), layers), controller.Problem{}
	case metadata.BrokerResource:
		if id.Name == "" {
			return describeClusterConfigs(layers.Cluster), controller.Problem{}
		}
		if id.Name != strconv.Itoa(int(node)) {
			return nil, controller.Problem{Code: env.InvalidRequest,
				Message: "Unexpected broker id, expected " + strconv.Itoa(int(node)) + " or empty string, but received " + strconv.Quote(shortened(id.Name))}
		}
		return describeBrokerConfigs(layers), controller.Problem{}
	default:
		return nil, controller.Problem{Code: env.InvalidRequest,
			Message: "Resources of type " + strconv.Itoa(int(id.Type)) + " have no configs in this release."}
	}
}

func shortened(name string) string { return name[:min(len(name), 100)] }

func describeTopicConfigs(overrides []env.Property, layers config.Layers) []described {
	settings := config.Settings(config.Topic)
	list := make([]described, 0, len(settings))
	for i := range settings {
		list = append(list, described{&settings[i], layers.Topic(overrides, &settings[i]), false})
	}
	return list
}

func describeBrokerConfigs(layers config.Layers) []described {
	settings := config.Settings(config.Broker)
	list := make([]described, 0, len(settings))
	for i := range settings {
		list = append(list, described{&settings[i], layers.Broker(&settings[i]), settings[i].Update == config.ReadOnly})
	}
	return list
}

// describeClusterConfigs are what was set for all brokers, and nothing else.
func describeClusterConfigs(set []env.Property) []described {
	var list []described
	for _, p := range set {
		s, ok := config.Lookup(config.Broker, p.Name)
		if !ok {
			continue // set by another release
		}
		list = append(list, described{s, config.Resolved{
			Value: p.Value, Source: config.FromCluster, Synonyms: []config.Value{{Name: p.Name, Value: p.Value, Source: config.FromCluster}},
		}, false})
	}
	return list
}

// chosen are the configs that were asked for, all when no name is given.
func chosen(list []described, names []string, req *kmsg.DescribeConfigsRequest) []kmsg.DescribeConfigsResponseResourceConfig {
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	var configs []kmsg.DescribeConfigsResponseResourceConfig
	for i := range list {
		d := &list[i]
		if len(names) > 0 && !wanted[d.setting.Name] {
			continue
		}
		c := kmsg.NewDescribeConfigsResponseResourceConfig()
		c.Name, c.ReadOnly, c.ConfigType = d.setting.Name, d.readOnly, kmsg.ConfigType(d.setting.Type)
		c.Source = kmsg.ConfigSource(d.resolved.Source)
		if !d.resolved.Null {
			c.Value = kmsg.StringPtr(d.resolved.Value)
		}
		if req.IncludeSynonyms {
			c.ConfigSynonyms = synonyms(d.resolved.Synonyms)
		}
		if req.IncludeDocumentation {
			c.Documentation = kmsg.StringPtr(d.setting.Doc)
		}
		configs = append(configs, c)
	}
	return slices.Clip(configs)
}

func synonyms(places []config.Value) []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym {
	list := make([]kmsg.DescribeConfigsResponseResourceConfigConfigSynonym, 0, len(places))
	for _, p := range places {
		s := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
		s.Name, s.Value, s.Source = p.Name, kmsg.StringPtr(p.Value), kmsg.ConfigSource(p.Source)
		list = append(list, s)
	}
	return list
}
