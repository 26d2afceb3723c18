package differential

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Types of config resources.
const (
	topicResource  = kmsg.ConfigResourceTypeTopic
	brokerResource = kmsg.ConfigResourceTypeBroker
)

// resource names a topic of the case, or a broker as it stands.
func (r *run) resource(kind kmsg.ConfigResourceType, name string) string {
	if kind == topicResource {
		return r.topic(name)
	}
	return name
}

func describe(kind kmsg.ConfigResourceType, name string, keys ...string) func(r *run) kmsg.Request {
	return func(r *run) kmsg.Request {
		req := kmsg.NewPtrDescribeConfigsRequest()
		x := kmsg.NewDescribeConfigsRequestResource()
		x.ResourceType, x.ResourceName, x.ConfigNames = kind, r.resource(kind, name), keys
		req.Resources = append(req.Resources, x)
		return req
	}
}

// shown is a step that shows some settings of topic a.
func shown(keys ...string) step {
	return step{name: "what is set", fixed: true, settles: true, ask: func(r *run) kmsg.Request {
		req := describe(topicResource, "a", keys...)(r).(*kmsg.DescribeConfigsRequest)
		req.Version, req.IncludeSynonyms = 2, true
		return req
	}}
}

func describeConfigsCases() []scenario {
	const key = 32
	a := []topic{{name: "a", configs: []string{"retention.ms", "777", "cleanup.policy", "compact,delete"}}}
	more := func(ask func(r *run) kmsg.Request) func(r *run) kmsg.Request {
		return func(r *run) kmsg.Request {
			req := ask(r).(*kmsg.DescribeConfigsRequest)
			req.IncludeSynonyms, req.IncludeDocumentation = true, true
			return req
		}
	}
	brokerKeys := []string{"log.retention.ms", "log.retention.hours", "num.partitions", "auto.create.topics.enable", "message.max.bytes", "log.segment.bytes", "default.replication.factor",
		"compression.type", "log.cleanup.policy", "min.insync.replicas", "fetch.max.bytes", "node.id", "unclean.leader.election.enable", "log.message.timestamp.type", "socket.request.max.bytes"}
	return []scenario{
		one("a topic", key, a, describe(topicResource, "a")),
		one("a topic with synonyms and documentation", key, a, more(describe(topicResource, "a"))),
		one("some settings of a topic", key, a, describe(topicResource, "a", "retention.ms", "segment.bytes")),
		one("an unknown setting of a topic", key, a, describe(topicResource, "a", "no.such.setting", "retention.ms")),
		one("a setting twice", key, a, describe(topicResource, "a", "retention.ms", "retention.ms")),
		one("no settings", key, a, func(r *run) kmsg.Request {
			req := describe(topicResource, "a")(r).(*kmsg.DescribeConfigsRequest)
			req.Resources[0].ConfigNames = []string{}
			return req
		}),
		one("an unknown topic", key, a, describe(topicResource, "nowhere")),
		one("an illegal topic name", key, a, describe(topicResource, "=a b")),
		one("an empty topic name", key, a, describe(topicResource, "=")),
		one("some settings of the broker", key, a, describe(brokerResource, "1", brokerKeys...)),
		one("some settings of the broker with synonyms and documentation", key, a, more(describe(brokerResource, "1", brokerKeys...))),
		one("another broker", key, a, describe(brokerResource, "2", "num.partitions")),
		one("no broker by that name", key, a, describe(brokerResource, "one", "num.partitions")),
		one("the default broker", key, a, describe(brokerResource, "", "num.partitions")),
		one("an unknown kind", key, a, describe(77, "a")),
		one("kind 0", key, a, describe(0, "a")),
		one("the same twice", key, a, func(r *run) kmsg.Request {
			req := describe(topicResource, "a", "retention.ms")(r).(*kmsg.DescribeConfigsRequest)
			req.Resources = append(req.Resources, req.Resources[0])
			return req
		}),
		one("none", key, a, func(*run) kmsg.Request { return kmsg.NewPtrDescribeConfigsRequest() }),
	}
}

type pair struct {
	name  string
	value *string
}

func alter(r *run, kind kmsg.ConfigResourceType, name string, pairs ...pair) *kmsg.AlterConfigsRequest {
	req := kmsg.NewPtrAlterConfigsRequest()
	x := kmsg.NewAlterConfigsRequestResource()
	x.ResourceType, x.ResourceName = kind, r.resource(kind, name)
	x.Configs = []kmsg.AlterConfigsRequestResourceConfig{}
	for _, p := range pairs {
		c := kmsg.NewAlterConfigsRequestResourceConfig()
		c.Name, c.Value = p.name, p.value
		x.Configs = append(x.Configs, c)
	}
	req.Resources = append(req.Resources, x)
	return req
}

func alterConfigsCases() []scenario {
	const key = 33
	a := []topic{{name: "a", configs: []string{"retention.ms", "777"}}}
	case_ := func(name string, kind kmsg.ConfigResourceType, resource string, pairs ...pair) scenario {
		return scenario{name: name, key: key, topics: a, steps: []step{
			{ask: func(r *run) kmsg.Request { return alter(r, kind, resource, pairs...) }},
			shown("retention.ms", "segment.ms", "cleanup.policy"),
		}}
	}
	return []scenario{
		case_("one setting, the others go", topicResource, "a", pair{"segment.ms", ptr("100000")}),
		case_("none: all go", topicResource, "a"),
		case_("an unknown setting", topicResource, "a", pair{"no.such.setting", ptr("1")}),
		case_("a bad value", topicResource, "a", pair{"segment.ms", ptr("soon")}),
		case_("a value out of range", topicResource, "a", pair{"segment.ms", ptr("-5")}),
		case_("a null value", topicResource, "a", pair{"segment.ms", nil}),
		case_("a setting twice", topicResource, "a", pair{"segment.ms", ptr("1000")}, pair{"segment.ms", ptr("2000")}),
		case_("an unknown topic", topicResource, "nowhere", pair{"segment.ms", ptr("1000")}),
		case_("an illegal topic name", topicResource, "=a b", pair{"segment.ms", ptr("1000")}),
		case_("an unknown kind", 77, "a", pair{"segment.ms", ptr("1000")}),
		case_("another broker", brokerResource, "7", pair{"log.cleaner.threads", ptr("2")}),
		case_("no broker by that name", brokerResource, "one", pair{"log.cleaner.threads", ptr("2")}),
		{name: "validate only", key: key, topics: a, steps: []step{
			{ask: func(r *run) kmsg.Request {
				req := alter(r, topicResource, "a", pair{"segment.ms", ptr("100000")})
				req.ValidateOnly = true
				return req
			}}, shown("retention.ms", "segment.ms"),
		}},
		{name: "the same resource twice", key: key, topics: a, steps: []step{
			{name: "twice (no answer)", ask: func(r *run) kmsg.Request {
				req := alter(r, topicResource, "a", pair{"segment.ms", ptr("100000")})
				req.Resources = append(req.Resources, req.Resources[0])
				return req
			}}, shown("retention.ms", "segment.ms"),
		}},
	}
}

type op struct {
	name  string
	op    kmsg.IncrementalAlterConfigOp
	value *string
}

const (
	set      = kmsg.IncrementalAlterConfigOpSet
	unset    = kmsg.IncrementalAlterConfigOpDelete
	add      = kmsg.IncrementalAlterConfigOpAppend
	subtract = kmsg.IncrementalAlterConfigOpSubtract
)

func incrementalCases() []scenario {
	const key = 44
	a := []topic{{name: "a", configs: []string{"retention.ms", "777", "cleanup.policy", "delete"}}}
	ask := func(r *run, kind kmsg.ConfigResourceType, name string, ops ...op) *kmsg.IncrementalAlterConfigsRequest {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		x := kmsg.NewIncrementalAlterConfigsRequestResource()
		x.ResourceType, x.ResourceName = kind, r.resource(kind, name)
		x.Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{}
		for _, o := range ops {
			c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			c.Name, c.Op, c.Value = o.name, o.op, o.value
			x.Configs = append(x.Configs, c)
		}
		req.Resources = append(req.Resources, x)
		return req
	}
	case_ := func(name string, kind kmsg.ConfigResourceType, resource string, ops ...op) scenario {
		return scenario{name: name, key: key, topics: a, steps: []step{
			{ask: func(r *run) kmsg.Request { return ask(r, kind, resource, ops...) }},
			shown("retention.ms", "segment.ms", "cleanup.policy"),
		}}
	}
	on := func(name string, ops ...op) scenario { return case_(name, topicResource, "a", ops...) }
	return []scenario{
		on("set", op{"segment.ms", set, ptr("100000")}), on("set two", op{"segment.ms", set, ptr("100000")}, op{"retention.ms", set, ptr("5")}),
		on("delete", op{"retention.ms", unset, nil}), on("delete what is not set", op{"segment.ms", unset, nil}), on("delete with a value", op{"retention.ms", unset, ptr("1")}),
		on("append to a list", op{"cleanup.policy", add, ptr("compact")}), on("append what is there", op{"cleanup.policy", add, ptr("delete")}),
		on("append to the default", op{"leader.replication.throttled.replicas", add, ptr("0:1")}),
		on("subtract from a list", op{"cleanup.policy", subtract, ptr("delete")}), on("subtract what is not there", op{"cleanup.policy", subtract, ptr("compact")}),
		on("append to a number", op{"retention.ms", add, ptr("1")}), on("subtract from a number", op{"retention.ms", subtract, ptr("1")}),
		on("set to null", op{"retention.ms", set, nil}), on("append null", op{"cleanup.policy", add, nil}),
		on("an unknown operation", op{"retention.ms", 9, ptr("1")}), on("an unknown setting", op{"no.such.setting", set, ptr("1")}), on("delete an unknown setting", op{"no.such.setting", unset, nil}),
		on("a bad value", op{"retention.ms", set, ptr("soon")}), on("a value out of range", op{"segment.bytes", set, ptr("3")}), on("an empty value", op{"retention.ms", set, ptr("")}),
		on("the same setting twice", op{"retention.ms", set, ptr("1")}, op{"retention.ms", set, ptr("2")}), on("none"),
		on("spaces around a number", op{"retention.ms", set, ptr(" 55 ")}), on("the default given", op{"retention.ms", set, ptr("604800000")}),
		case_("an unknown topic", topicResource, "nowhere", op{"retention.ms", set, ptr("1")}), case_("an illegal topic name", topicResource, "=a b", op{"retention.ms", set, ptr("1")}),
		case_("an empty topic name", topicResource, "=", op{"retention.ms", set, ptr("1")}), case_("an unknown kind", 77, "a", op{"retention.ms", set, ptr("1")}),
		case_("another broker", brokerResource, "7", op{"log.cleaner.threads", set, ptr("2")}), case_("no broker by that name", brokerResource, "one", op{"log.cleaner.threads", set, ptr("2")}),
		case_("a read-only setting of the broker", brokerResource, "1", op{"log.dirs", set, ptr("/x")}),
		{name: "validate only", key: key, topics: a, steps: []step{
			{ask: func(r *run) kmsg.Request {
				req := ask(r, topicResource, "a", op{"retention.ms", set, ptr("5")})
				req.ValidateOnly = true
				return req
			}}, shown("retention.ms"),
		}},
		{name: "the same resource twice", key: key, topics: a, steps: []step{
			{ask: func(r *run) kmsg.Request {
				req := ask(r, topicResource, "a", op{"retention.ms", set, ptr("5")})
				req.Resources = append(req.Resources, req.Resources[0])
				return req
			}}, shown("retention.ms"),
		}},
		{name: "a setting is in force at once", key: key, topics: a, steps: []step{
			{ask: func(r *run) kmsg.Request { return ask(r, topicResource, "a", op{"max.message.bytes", set, ptr("10")}) }},
			{name: "a produce", fixed: true, ask: func(r *run) kmsg.Request {
				req := produce(r, -1, part{"a", 0, batch{}.bytes()})
				req.Version = 9
				return req
			}, until: func(resp kmsg.Response) bool { return firstError(resp) != 0 }}}},
	}
}

func deleteRecordsCases() []scenario {
	const key = 21
	a := []topic{{name: "a", partitions: 2}}
	case_ := func(name, topic string, partition int32, offset int64) scenario {
		return scenario{name: name, key: key, topics: a, steps: append(log[:len(log):len(log)],
			step{ask: func(r *run) kmsg.Request { return deleteRecords(r, topic, partition, offset) }},
			read("a", 0), read("a", offset),
		)}
	}
	return []scenario{
		case_("at a batch's beginning", "a", 0, 3), case_("inside a batch", "a", 0, 1), case_("all", "a", 0, -1), case_("up to the end", "a", 0, 6), case_("none", "a", 0, 0),
		case_("beyond the end", "a", 0, 7), case_("offset -2", "a", 0, -2), case_("an empty partition", "a", 1, -1), case_("unknown partition", "a", 9, 1), case_("unknown topic", "nowhere", 0, 1),
		case_("illegal topic name", "=a b", 0, 1),
		{name: "again and lower", key: key, topics: a, steps: append(log[:len(log):len(log)], deleteUpTo("a", 4),
			step{name: "again", ask: func(r *run) kmsg.Request { return deleteRecords(r, "a", 0, 4) }},
			step{name: "lower", ask: func(r *run) kmsg.Request { return deleteRecords(r, "a", 0, 2) }})},
		{name: "a compacted topic", key: key, topics: []topic{{name: "a", configs: []string{"cleanup.policy", "compact"}}}, steps: append(fill("a", batch{}),
			step{ask: func(r *run) kmsg.Request { return deleteRecords(r, "a", 0, 1) }})},
		{name: "no topics", key: key, topics: a, steps: []step{{ask: func(*run) kmsg.Request { return kmsg.NewPtrDeleteRecordsRequest() }}}},
		{name: "an internal topic", key: key, topics: a, steps: []step{{ask: func(r *run) kmsg.Request { return deleteRecords(r, "=__cluster_metadata", 0, 1) }}}},
	}
}

func initProducerCases() []scenario {
	const key = 22
	ask := func(change func(r *run, req *kmsg.InitProducerIDRequest)) func(r *run) kmsg.Request {
		return func(r *run) kmsg.Request {
			req := kmsg.NewPtrInitProducerIDRequest()
			req.TransactionTimeoutMillis = 60_000
			change(r, req)
			return req
		}
	}
	get := func(name string, change func(r *run, req *kmsg.InitProducerIDRequest)) scenario {
		return one(name, key, nil, ask(change))
	}
	return []scenario{
		get("plain", func(*run, *kmsg.InitProducerIDRequest) {}),
		{name: "twice: two ids", key: key, steps: []step{{ask: ask(func(*run, *kmsg.InitProducerIDRequest) {})}, {ask: ask(func(*run, *kmsg.InitProducerIDRequest) {})}}},
		get("timeout 0", func(_ *run, req *kmsg.InitProducerIDRequest) { req.TransactionTimeoutMillis = 0 }),
		get("timeout -1", func(_ *run, req *kmsg.InitProducerIDRequest) { req.TransactionTimeoutMillis = -1 }),
		get("an empty transactional id", func(_ *run, req *kmsg.InitProducerIDRequest) { req.TransactionalID = ptr("") }),
		get("an id and an epoch", func(_ *run, req *kmsg.InitProducerIDRequest) {
			req.ProducerID, req.ProducerEpoch = inventedProducer+5, 1
		}).since(3),
		get("an id without an epoch", func(_ *run, req *kmsg.InitProducerIDRequest) { req.ProducerID = inventedProducer + 5 }).since(3),
		get("an epoch without an id", func(_ *run, req *kmsg.InitProducerIDRequest) { req.ProducerEpoch = 5 }).since(3),
		get("id -5", func(_ *run, req *kmsg.InitProducerIDRequest) { req.ProducerID, req.ProducerEpoch = -5, 1 }).since(3),
	}
}

func resourcesCases() []scenario {
	const key = 74
	a := []topic{{name: "a"}, {name: "b"}}
	ask := func(kinds ...int8) func(r *run) kmsg.Request {
		return func(*run) kmsg.Request {
			req := kmsg.NewPtrListConfigResourcesRequest()
			req.ResourceTypes = kinds
			return req
		}
	}
	return []scenario{
		one("the default", key, a, ask()), one("topics", key, a, ask(2)).since(1), one("brokers", key, a, ask(4)).since(1), one("topics and brokers", key, a, ask(2, 4)).since(1),
		one("client metrics", key, a, ask(16)).since(1), one("broker loggers", key, a, ask(8)).since(1), one("an unknown kind", key, a, ask(77)).since(1), one("topics twice", key, a, ask(2, 2)).since(1),
	}
}
