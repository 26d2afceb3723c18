package differential

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// newTopic is an entry of a CreateTopics.
func newTopic(r *run, name string, partitions int32, change ...func(t *kmsg.CreateTopicsRequestTopic)) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = r.topic(name), partitions, 1
	for _, c := range change {
		c(&t)
	}
	return t
}

func createTopics(ts ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 30_000
	req.Topics = ts
	return req
}

func createTopicsCases() []scenario {
	const key = 19
	type change = func(t *kmsg.CreateTopicsRequestTopic)
	create := func(name string, ask func(r *run) []kmsg.CreateTopicsRequestTopic) scenario {
		return scenario{name: name, key: key, steps: []step{
			{ask: func(r *run) kmsg.Request { return createTopics(ask(r)...) }},
			{name: "what is there", fixed: true, settles: true, ask: func(r *run) kmsg.Request {
				req := metadata(r, "n", "m")
				req.Version, req.AllowAutoTopicCreation = 12, false
				return req
			}},
		}}
	}
	single := func(name string, partitions int32, changes ...change) scenario {
		return create(name, func(r *run) []kmsg.CreateTopicsRequestTopic {
			return []kmsg.CreateTopicsRequestTopic{newTopic(r, "n", partitions, changes...)}
		})
	}
	called := func(label, topic string) scenario {
		return create("name "+label, func(r *run) []kmsg.CreateTopicsRequestTopic {
			return []kmsg.CreateTopicsRequestTopic{newTopic(r, "="+topic, 1)}
		})
	}
	factor := func(n int16) change {
		return func(t *kmsg.CreateTopicsRequestTopic) { t.ReplicationFactor = n }
	}
	config := func(name string, value *string) change {
		return func(t *kmsg.CreateTopicsRequestTopic) {
			c := kmsg.NewCreateTopicsRequestTopicConfig()
			c.Name, c.Value = name, value
			t.Configs = append(t.Configs, c)
		}
	}
	assign := func(partition int32, replicas ...int32) change {
		return func(t *kmsg.CreateTopicsRequestTopic) {
			a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			a.Partition, a.Replicas = partition, replicas
			t.ReplicaAssignment = append(t.ReplicaAssignment, a)
		}
	}
	counted := func(t *kmsg.CreateTopicsRequestTopic) { t.ReplicationFactor = -1 }
	all := []scenario{
		single("one partition", 1), single("three partitions", 3),
		single("0 partitions", 0), single("-1 partitions", -1), single("-2 partitions", -2), single("a thousand million partitions", 1_000_000_000),
		single("default replication factor", 1, factor(-1)), single("both defaults", -1, factor(-1)),
		single("replication factor 0", 1, factor(0)), single("replication factor 2", 1, factor(2)), single("replication factor -2", 1, factor(-2)),
		single("an assignment", -1, counted, assign(0, 1), assign(1, 1)),
		single("an assignment out of order", -1, counted, assign(1, 1), assign(0, 1)),
		single("an assignment and a count", 1, assign(0, 1)),
		single("an assignment and a factor", -1, assign(0, 1)),
		single("an assignment to an unknown broker", -1, counted, assign(0, 9)),
		single("an assignment that skips a partition", -1, counted, assign(0, 1), assign(2, 1)),
		single("an assignment with a partition twice", -1, counted, assign(0, 1), assign(0, 1)),
		single("an assignment with a broker twice", -1, counted, assign(0, 1, 1)),
		single("an assignment without brokers", -1, counted, assign(0)),
		single("an assignment with a negative partition", -1, counted, assign(-1, 1)),
		single("a setting", 2, config("retention.ms", ptr("12345")), config("cleanup.policy", ptr("compact"))),
		single("an unknown setting", 1, config("no.such.setting", ptr("1"))),
		single("a setting that is no number", 1, config("retention.ms", ptr("soon"))),
		single("a setting below its range", 1, config("segment.bytes", ptr("1"))),
		single("a setting with an unknown word", 1, config("cleanup.policy", ptr("burn"))),
		single("a list with two words", 1, config("cleanup.policy", ptr("compact,delete"))),
		single("a null setting", 1, config("retention.ms", nil)),
		single("a setting twice", 1, config("retention.ms", ptr("1")), config("retention.ms", ptr("2"))),
		single("an empty setting", 1, config("retention.ms", ptr(""))),
		single("a compression", 1, config("compression.type", ptr("zstd")), config("compression.zstd.level", ptr("5"))),
		single("local retention above retention", 1, config("retention.ms", ptr("10")), config("local.retention.ms", ptr("20"))),
		single("min.insync.replicas 2", 1, config("min.insync.replicas", ptr("2"))),
		called("empty", ""), called("of one dot", "."), called("of two dots", ".."), called("with a space", "a b"), called("with a slash", "a/b"),
		called("of 250 letters", strings.Repeat("x", 250)), called("of 32767 letters", strings.Repeat("x", 32767)), called("with a letter beyond ASCII", "é"),
		called("of the offsets topic", "__consumer_offsets"), called("of the metadata log", "__cluster_metadata"), called("of the transaction log", "__transaction_state"),
		create("a good and a bad one", func(r *run) []kmsg.CreateTopicsRequestTopic {
			return []kmsg.CreateTopicsRequestTopic{newTopic(r, "n", 1), newTopic(r, "m", 1, factor(5))}
		}),
		create("the same twice", func(r *run) []kmsg.CreateTopicsRequestTopic {
			return []kmsg.CreateTopicsRequestTopic{newTopic(r, "n", 1), newTopic(r, "n", 2), newTopic(r, "m", 1)}
		}),
		create("none", func(*run) []kmsg.CreateTopicsRequestTopic { return []kmsg.CreateTopicsRequestTopic{} }),
		create("names that collide as metrics", func(r *run) []kmsg.CreateTopicsRequestTopic {
			return []kmsg.CreateTopicsRequestTopic{newTopic(r, "m.x", 1), newTopic(r, "m_x", 1)}
		}),
		{name: "names that collide as metrics, one after the other", key: key, steps: []step{
			{ask: func(r *run) kmsg.Request { return createTopics(newTopic(r, "m.x", 1)) }},
			{ask: func(r *run) kmsg.Request { return createTopics(newTopic(r, "m_x", 1)) }},
		}},
		{name: "it is there already", key: key, topics: []topic{{name: "n"}}, steps: []step{
			{ask: func(r *run) kmsg.Request { return createTopics(newTopic(r, "n", 1)) }},
			{name: "with an error of its own", ask: func(r *run) kmsg.Request { return createTopics(newTopic(r, "n", 0)) }},
		}},
		{name: "validate only", key: key, steps: []step{
			{ask: func(r *run) kmsg.Request {
				req := createTopics(newTopic(r, "n", 2), newTopic(r, "m", 0))
				req.ValidateOnly = true
				return req
			}},
			{name: "what is there", fixed: true, settles: true, ask: func(r *run) kmsg.Request {
				req := metadata(r, "n", "m")
				req.Version, req.AllowAutoTopicCreation = 12, false
				return req
			}},
		}},
		{name: "timeout 0", key: key, steps: []step{
			{ask: func(r *run) kmsg.Request {
				req := createTopics(newTopic(r, "n", 0))
				req.TimeoutMillis = 0
				return req
			}},
		}},
	}
	return all
}

func deleteTopicsCases() []scenario {
	const key = 20
	byName := func(names ...string) func(r *run) kmsg.Request {
		return func(r *run) kmsg.Request {
			req := kmsg.NewPtrDeleteTopicsRequest()
			req.TimeoutMillis = 30_000
			req.TopicNames = []string{}
			for _, n := range names {
				req.TopicNames = append(req.TopicNames, r.topic(n))
				t := kmsg.NewDeleteTopicsRequestTopic()
				t.Topic = ptr(r.topic(n))
				req.Topics = append(req.Topics, t)
			}
			return req
		}
	}
	byID := func(ids ...func(r *run) [16]byte) func(r *run) kmsg.Request {
		return func(r *run) kmsg.Request {
			req := kmsg.NewPtrDeleteTopicsRequest()
			req.TimeoutMillis = 30_000
			for _, id := range ids {
				t := kmsg.NewDeleteTopicsRequestTopic()
				t.TopicID = id(r)
				req.Topics = append(req.Topics, t)
			}
			return req
		}
	}
	gone := func(r *run) kmsg.Request {
		req := metadata(r, "a", "b")
		req.Version, req.AllowAutoTopicCreation = 12, false
		return req
	}
	ab := []topic{{name: "a"}, {name: "b", partitions: 2}}
	del := func(name string, ask func(r *run) kmsg.Request) scenario {
		return scenario{name: name, key: key, topics: ab, steps: []step{{ask: ask}, {name: "what is there", fixed: true, settles: true, ask: gone}}}
	}
	a := func(r *run) [16]byte { return r.id("a") }
	unknown := func(*run) [16]byte { return unknownID }
	zero := func(*run) [16]byte { return [16]byte{} }
	return []scenario{
		del("one", byName("a")), del("two", byName("a", "b")), del("unknown", byName("nowhere", "a")), del("the same twice", byName("a", "a")),
		del("illegal name", byName("=a b", "a")), del("empty name", byName("=")), del("none", byName()), del("the offsets topic's sister", byName("=__no_such_internal")),
		del("by id", byID(a)).since(6), del("by an unknown id", byID(unknown, a)).since(6), del("by zero id", byID(zero)).since(6), del("by id twice", byID(a, a)).since(6),
		del("by name and by id", func(r *run) kmsg.Request {
			req := byID(a)(r).(*kmsg.DeleteTopicsRequest)
			req.Topics[0].Topic = ptr(r.topic("a"))
			return req
		}).since(6),
		{name: "made again under its name", key: key, topics: []topic{{name: "a"}}, steps: append(fill("a", batch{}),
			step{ask: byName("a")},
			step{name: "made again", fixed: true, ask: func(r *run) kmsg.Request {
				req := createTopics(newTopic(r, "a", 1))
				req.Version = 7
				return req
			}},
			step{name: "its end", fixed: true, ask: latest("a"), until: func(resp kmsg.Response) bool {
				return served0(resp) && resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].Offset == 0
			}},
		)},
	}
}

func latest(name string) func(r *run) kmsg.Request {
	return func(r *run) kmsg.Request {
		req := kmsg.NewPtrListOffsetsRequest()
		req.Version = 5
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = r.topic(name)
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Timestamp = -1
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
		return req
	}
}

// served0 tells that nothing in the answer is an error.
func served0(resp kmsg.Response) bool { return firstError(resp) == 0 }

func createPartitionsCases() []scenario {
	const key = 37
	type entry = kmsg.CreatePartitionsRequestTopic
	grow := func(name string, count int32, brokers ...[]int32) func(r *run) entry {
		return func(r *run) entry {
			t := kmsg.NewCreatePartitionsRequestTopic()
			t.Topic, t.Count = r.topic(name), count
			for _, b := range brokers {
				a := kmsg.NewCreatePartitionsRequestTopicAssignment()
				a.Replicas = b
				t.Assignment = append(t.Assignment, a)
			}
			return t
		}
	}
	request := func(validate bool, entries []func(r *run) entry) func(r *run) kmsg.Request {
		return func(r *run) kmsg.Request {
			req := kmsg.NewPtrCreatePartitionsRequest()
			req.TimeoutMillis, req.ValidateOnly = 30_000, validate
			req.Topics = []entry{}
			for _, e := range entries {
				req.Topics = append(req.Topics, e(r))
			}
			return req
		}
	}
	there := step{name: "what is there", fixed: true, settles: true, ask: func(r *run) kmsg.Request {
		req := metadata(r, "a", "b")
		req.Version, req.AllowAutoTopicCreation = 12, false
		return req
	}, until: func(resp kmsg.Response) bool { return firstError(resp) == 0 }}
	ab := []topic{{name: "a", partitions: 2}, {name: "b"}}
	case_ := func(name string, entries ...func(r *run) entry) scenario {
		return scenario{name: name, key: key, topics: ab, steps: []step{{ask: request(false, entries)}, there}}
	}
	return []scenario{
		case_("more", grow("a", 4)), case_("two topics", grow("a", 3), grow("b", 2)), case_("as many", grow("a", 2)), case_("fewer", grow("a", 1)),
		case_("0", grow("a", 0)), case_("-1", grow("a", -1)), case_("a thousand million", grow("a", 1_000_000_000)),
		case_("unknown topic", grow("nowhere", 3), grow("a", 3)), case_("illegal name", grow("=a b", 3)), case_("the same twice", grow("a", 3), grow("a", 4), grow("b", 2)), case_("none"),
		case_("an assignment", grow("a", 3, []int32{1})), case_("an assignment too short", grow("a", 4, []int32{1})), case_("an assignment too long", grow("a", 3, []int32{1}, []int32{1})),
		case_("an assignment to an unknown broker", grow("a", 3, []int32{7})), case_("an assignment with a broker twice", grow("a", 3, []int32{1, 1})), case_("an assignment without brokers", grow("a", 3, []int32{})),
		{name: "validate only", key: key, topics: ab, steps: []step{{ask: request(true, []func(r *run) entry{grow("a", 5), grow("b", 1)})}, there}},
		{name: "what they hold", key: key, topics: ab, steps: append(append([]step{{ask: request(false, []func(r *run) entry{grow("b", 2)})}, there}, fill("b", batch{})...), read("b", 0))},
	}
}
