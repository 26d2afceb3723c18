package differential

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

func metadata(r *run, names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.AllowAutoTopicCreation = r.version, true
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, n := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = ptr(r.topic(n))
		req.Topics = append(req.Topics, t)
	}
	return req
}

func metadataCases() []scenario {
	const key = 3
	ab := []topic{{name: "a", partitions: 3}, {name: "b", configs: []string{"cleanup.policy", "compact"}}}
	// quiet: no topic is made by asking for it. Before version 4 the broker's setting alone decides.
	quiet := func(names ...string) func(r *run) kmsg.Request {
		return func(r *run) kmsg.Request {
			req := metadata(r, names...)
			req.AllowAutoTopicCreation = false
			return req
		}
	}
	get := func(name string, ask func(r *run) kmsg.Request) scenario { return one(name, key, ab, ask) }
	byID := func(name *string, ids ...func(r *run) [16]byte) func(r *run) kmsg.Request {
		return func(r *run) kmsg.Request {
			req := quiet()(r).(*kmsg.MetadataRequest)
			for _, id := range ids {
				t := kmsg.NewMetadataRequestTopic()
				t.Topic, t.TopicID = name, id(r)
				req.Topics = append(req.Topics, t)
			}
			return req
		}
	}
	return []scenario{
		get("one topic", quiet("a")), get("two topics", quiet("b", "a")), get("the same twice", quiet("a", "a")),
		get("all topics", func(r *run) kmsg.Request {
			req := quiet()(r).(*kmsg.MetadataRequest)
			if r.version > 0 {
				req.Topics = nil
			}
			return req
		}),
		get("no topics", quiet()).since(1),
		get("an unknown topic", quiet("nowhere", "a")).since(4),
		get("an illegal name", quiet("=a b")).since(4), get("an empty name", quiet("=")).since(4), get("one dot", quiet("=.")).since(4),
		get("an illegal name, to be made", func(r *run) kmsg.Request { return metadata(r, "=a b") }),
		get("the cluster's operations", func(r *run) kmsg.Request {
			req := quiet("a")(r).(*kmsg.MetadataRequest)
			req.IncludeClusterAuthorizedOperations = true
			return req
		}).since(8).upto(10),
		get("the topic's operations", func(r *run) kmsg.Request {
			req := quiet("a", "nowhere")(r).(*kmsg.MetadataRequest)
			req.IncludeTopicAuthorizedOperations = true
			return req
		}).since(8),
		get("by id", byID(nil, func(r *run) [16]byte { return r.id("a") })).since(10),
		get("by an unknown id", byID(nil, func(*run) [16]byte { return unknownID }, func(r *run) [16]byte { return r.id("b") })).since(10),
		get("by zero id", byID(nil, func(*run) [16]byte { return [16]byte{} })).since(10),
		get("by id and another name", byID(ptr("zzz"), func(r *run) [16]byte { return r.id("a") })).since(10),
		{name: "an unknown topic is made", key: key, steps: []step{
			{name: "first", ask: func(r *run) kmsg.Request { return metadata(r, "fresh") }},
			{name: "then", ask: func(r *run) kmsg.Request { return metadata(r, "fresh") }, until: served0},
			{name: "its end", fixed: true, ask: latest("fresh"), until: served0},
		}},
		{name: "two unknown topics are made", key: key, steps: []step{
			{name: "first", ask: func(r *run) kmsg.Request { return metadata(r, "fresh", "fresh2") }},
			{name: "then", ask: func(r *run) kmsg.Request { return metadata(r, "fresh", "fresh2") }, until: served0},
		}},
	}
}

func versionCases() []scenario {
	const key = 18
	software := func(name, version string) func(r *run) kmsg.Request {
		return func(r *run) kmsg.Request {
			req := kmsg.NewPtrApiVersionsRequest()
			req.ClientSoftwareName, req.ClientSoftwareVersion = name, version
			return req
		}
	}
	raw := func(version int16, body []byte) func(r *run) (int16, int16, []byte) {
		return func(*run) (int16, int16, []byte) { return key, version, body }
	}
	return []scenario{
		one("plain", key, nil, software("orrery-differential", "1.0")),
		one("an illegal software name", key, nil, software("-x", "1.0")).since(3),
		one("an empty software name", key, nil, software("", "")).since(3),
		one("an illegal software version", key, nil, software("x", "1 0")).since(3),
		{name: "versions nobody has", key: key, to: 1, steps: []step{
			{name: "version 6", raw: raw(6, nil)}, {name: "version 99", raw: raw(99, []byte{1, 2, 3})}, {name: "version -1", raw: raw(-1, nil)}, {name: "version 99 with a long body", raw: raw(99, make([]byte, 1000))},
			{name: "still there", ask: software("x", "1")},
		}},
		{name: "asked again later", key: key, topics: []topic{{name: "a"}}, steps: []step{
			{ask: software("x", "1")}, {fixed: true, ask: func(r *run) kmsg.Request { q := metadata(r, "a"); q.Version = 5; return q }}, {ask: software("x", "1")}}},
	}
}

func clusterCases() []scenario {
	const key = 60
	get := func(name string, change func(req *kmsg.DescribeClusterRequest)) scenario {
		return one(name, key, nil, func(*run) kmsg.Request {
			req := kmsg.NewPtrDescribeClusterRequest()
			req.EndpointType = 1
			change(req)
			return req
		})
	}
	return []scenario{
		get("plain", func(*kmsg.DescribeClusterRequest) {}),
		get("with operations", func(req *kmsg.DescribeClusterRequest) { req.IncludeClusterAuthorizedOperations = true }),
		get("controllers", func(req *kmsg.DescribeClusterRequest) { req.EndpointType = 2 }).since(1),
		get("endpoint type 0", func(req *kmsg.DescribeClusterRequest) { req.EndpointType = 0 }).since(1),
		get("endpoint type 9", func(req *kmsg.DescribeClusterRequest) { req.EndpointType = 9 }).since(1),
		get("fenced brokers too", func(req *kmsg.DescribeClusterRequest) { req.IncludeFencedBrokers = true }).since(2),
	}
}

func coordinatorCases() []scenario {
	const key = 10
	ask := func(kind int8, keys ...string) func(r *run) kmsg.Request {
		return func(*run) kmsg.Request {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.CoordinatorType, req.CoordinatorKey, req.CoordinatorKeys = kind, keys[0], keys
			return req
		}
	}
	return []scenario{
		one("a group", key, nil, ask(0, "differential")), one("an unknown kind", key, nil, ask(9, "differential")).since(1),
		one("two groups", key, nil, ask(0, "differential", "differential-2")).since(4),
	}
}

func topicPartitionsCases() []scenario {
	const key = 75
	ab := []topic{{name: "a", partitions: 3}, {name: "b"}, {name: "c", partitions: 2}}
	get := func(name string, change func(r *run, req *kmsg.DescribeTopicPartitionsRequest), names ...string) scenario {
		return one(name, key, ab, func(r *run) kmsg.Request {
			req := kmsg.NewPtrDescribeTopicPartitionsRequest()
			req.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{}
			for _, n := range names {
				t := kmsg.NewDescribeTopicPartitionsRequestTopic()
				t.Topic = r.topic(n)
				req.Topics = append(req.Topics, t)
			}
			if change != nil {
				change(r, req)
			}
			return req
		})
	}
	cursor := func(topic string, partition int32) func(r *run, req *kmsg.DescribeTopicPartitionsRequest) {
		return func(r *run, req *kmsg.DescribeTopicPartitionsRequest) {
			c := kmsg.NewDescribeTopicPartitionsRequestCursor()
			c.Topic, c.Partition = r.topic(topic), partition
			req.Cursor = &c
		}
	}
	limit := func(n int32) func(r *run, req *kmsg.DescribeTopicPartitionsRequest) {
		return func(_ *run, req *kmsg.DescribeTopicPartitionsRequest) { req.ResponsePartitionLimit = n }
	}
	return []scenario{
		get("one topic", nil, "a"), get("three topics", nil, "c", "a", "b"), get("all of them twice", nil, "a", "a"),
		get("an unknown topic", nil, "nowhere", "a"), get("an illegal name", nil, "=a b"), get("an empty name", nil, "="),
		get("limit 1", limit(1), "a", "b"), get("limit 3", limit(3), "a", "b"), get("limit 4", limit(4), "a", "b", "c"), get("limit 0", limit(0), "a"), get("limit -1", limit(-1), "a"),
		get("from a cursor", cursor("a", 1), "a", "b"), get("from a cursor in the second topic", cursor("b", 0), "a", "b", "c"),
		get("from a cursor behind its topic", cursor("a", 9), "a", "b"), get("from a cursor in a topic not asked for", cursor("zz", 0), "a", "b"), get("from a cursor before a topic not asked for", cursor("0", 0), "a", "b"),
		get("from a negative cursor", cursor("a", -1), "a"),
	}
}

func logDirsCases() []scenario {
	const key = 35
	ab := []topic{{name: "a", partitions: 2}, {name: "b"}}
	ask := func(topics []kmsg.DescribeLogDirsRequestTopic) kmsg.Request {
		req := kmsg.NewPtrDescribeLogDirsRequest()
		req.Topics = topics
		return req
	}
	entry := func(r *run, name string, partitions ...int32) kmsg.DescribeLogDirsRequestTopic {
		t := kmsg.NewDescribeLogDirsRequestTopic()
		t.Topic, t.Partitions = r.topic(name), partitions
		return t
	}
	get := func(name string, f func(r *run) []kmsg.DescribeLogDirsRequestTopic) scenario {
		return scenario{name: name, key: key, topics: ab, shared: true, steps: append(fill("a", batch{}, batch{}), step{ask: func(r *run) kmsg.Request { return ask(f(r)) }})}
	}
	return []scenario{
		get("all", func(*run) []kmsg.DescribeLogDirsRequestTopic { return nil }),
		get("none", func(*run) []kmsg.DescribeLogDirsRequestTopic { return []kmsg.DescribeLogDirsRequestTopic{} }),
		get("one partition", func(r *run) []kmsg.DescribeLogDirsRequestTopic {
			return []kmsg.DescribeLogDirsRequestTopic{entry(r, "a", 0)}
		}),
		get("two topics", func(r *run) []kmsg.DescribeLogDirsRequestTopic {
			return []kmsg.DescribeLogDirsRequestTopic{entry(r, "a", 0, 1), entry(r, "b", 0)}
		}),
		get("unknown partition and topic", func(r *run) []kmsg.DescribeLogDirsRequestTopic {
			return []kmsg.DescribeLogDirsRequestTopic{entry(r, "a", 0, 8), entry(r, "nowhere", 0)}
		}),
		get("no partitions", func(r *run) []kmsg.DescribeLogDirsRequestTopic {
			return []kmsg.DescribeLogDirsRequestTopic{entry(r, "a")}
		}),
	}
}

func producersCases() []scenario {
	const key = 61
	ab := []topic{{name: "a", partitions: 2}}
	ask := func(name string, partitions ...int32) func(r *run) kmsg.Request {
		return func(r *run) kmsg.Request {
			req := kmsg.NewPtrDescribeProducersRequest()
			t := kmsg.NewDescribeProducersRequestTopic()
			t.Topic, t.Partitions = r.topic(name), partitions
			req.Topics = append(req.Topics, t)
			return req
		}
	}
	scene := fill("a", batch{producer: inventedProducer + 20}, batch{producer: inventedProducer + 20, sequence: 1}, batch{producer: inventedProducer + 21, epoch: 3}, batch{})
	get := func(name string, a func(r *run) kmsg.Request) scenario {
		return scenario{name: name, key: key, topics: ab, shared: true, steps: append(scene[:len(scene):len(scene)], step{ask: a})}
	}
	return []scenario{
		get("two producers", ask("a", 0)), get("none", ask("a", 1)), get("both partitions", ask("a", 0, 1)), get("unknown partition", ask("a", 0, 9)), get("unknown topic", ask("nowhere", 0)),
		get("illegal name", ask("=a b", 0)), get("no partitions", ask("a")),
	}
}

func epochCases() []scenario {
	const key = 23
	ab := []topic{{name: "a", partitions: 2}}
	scene := fill("a", batch{records: values("one", "two", "three")})
	get := func(name string, change func(r *run, req *kmsg.OffsetForLeaderEpochRequest)) scenario {
		return scenario{name: name, key: key, topics: ab, shared: true, steps: append(scene[:len(scene):len(scene)], step{ask: func(r *run) kmsg.Request {
			req := kmsg.NewPtrOffsetForLeaderEpochRequest()
			req.ReplicaID = -1
			t := kmsg.NewOffsetForLeaderEpochRequestTopic()
			t.Topic = r.topic("a")
			for n := range int32(2) {
				p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
				p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = n, -1, r.leaderEpoch("a")
				t.Partitions = append(t.Partitions, p)
			}
			req.Topics = append(req.Topics, t)
			change(r, req)
			return req
		}})}
	}
	at := func(req *kmsg.OffsetForLeaderEpochRequest) *kmsg.OffsetForLeaderEpochRequestTopicPartition {
		return &req.Topics[0].Partitions[0]
	}
	return []scenario{
		get("the current epoch", func(*run, *kmsg.OffsetForLeaderEpochRequest) {}),
		get("the next epoch", func(r *run, req *kmsg.OffsetForLeaderEpochRequest) { at(req).LeaderEpoch++ }),
		get("epoch -1", func(r *run, req *kmsg.OffsetForLeaderEpochRequest) { at(req).LeaderEpoch = -1 }),
		get("epoch -2", func(r *run, req *kmsg.OffsetForLeaderEpochRequest) { at(req).LeaderEpoch = -2 }),
		get("as leader epoch the current one", func(r *run, req *kmsg.OffsetForLeaderEpochRequest) { at(req).CurrentLeaderEpoch = r.leaderEpoch("a") }),
		get("a leader epoch too new", func(r *run, req *kmsg.OffsetForLeaderEpochRequest) {
			at(req).CurrentLeaderEpoch = r.leaderEpoch("a") + 1
		}),
		get("unknown partition", func(r *run, req *kmsg.OffsetForLeaderEpochRequest) { at(req).Partition = 12 }),
		get("unknown topic", func(r *run, req *kmsg.OffsetForLeaderEpochRequest) { req.Topics[0].Topic = r.topic("nowhere") }),
		get("as a debugging consumer", func(r *run, req *kmsg.OffsetForLeaderEpochRequest) { req.ReplicaID = -2 }),
		get("as replica 1", func(r *run, req *kmsg.OffsetForLeaderEpochRequest) { req.ReplicaID = 1 }),
		get("no topics", func(r *run, req *kmsg.OffsetForLeaderEpochRequest) { req.Topics = nil }),
		get("a repeated partition", func(r *run, req *kmsg.OffsetForLeaderEpochRequest) {
			req.Topics[0].Partitions = append(req.Topics[0].Partitions, req.Topics[0].Partitions[0])
		}),
	}
}
