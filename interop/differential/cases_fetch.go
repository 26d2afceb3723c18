package differential

import (
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const fetchKey = 1

// log is what most fetches read: three batches, offsets 0-2, 3, 4-5.
var log = fill("a", batch{records: values("one", "two", "three")}, batch{records: values("four"), codec: 1}, batch{records: values("five", strings.Repeat("six", 100))})

func fetchCases() []scenario {
	a := []topic{{name: "a", partitions: 2}}
	get := func(name string, ask func(r *run) kmsg.Request) scenario {
		return scenario{name: name, key: fetchKey, topics: a, shared: true, steps: append(log[:len(log):len(log)], step{ask: ask})}
	}
	from := func(offset int64) func(r *run) kmsg.Request {
		return func(r *run) kmsg.Request { return fetch(r, want{topic: "a", offset: offset}) }
	}
	with := func(change func(req *kmsg.FetchRequest), wants ...want) func(r *run) kmsg.Request {
		return func(r *run) kmsg.Request {
			req := fetch(r, wants...)
			change(req)
			return req
		}
	}
	return []scenario{
		get("from 0", from(0)),
		get("in the middle of a batch", from(1)),
		get("at the beginning of a batch", from(3)),
		get("at the end", from(6)),
		get("beyond the end", from(7)),
		get("far beyond the end", from(1<<60)),
		get("offset -1", from(-1)),
		get("offset -2", from(-2)),
		get("an empty partition", func(r *run) kmsg.Request { return fetch(r, want{topic: "a", partition: 1}) }),
		get("an unknown partition", func(r *run) kmsg.Request {
			return fetch(r, want{topic: "a"}, want{topic: "a", partition: 8})
		}),
		get("an unknown topic", func(r *run) kmsg.Request { return fetch(r, want{topic: "nowhere"}, want{topic: "a"}) }),
		get("an illegal topic name", func(r *run) kmsg.Request { return fetch(r, want{topic: "=a b"}) }).upto(12),
		get("zero topic id", with(func(req *kmsg.FetchRequest) { req.Topics[0].TopicID = [16]byte{} }, want{topic: "a"})).since(13),
		get("no topics", func(r *run) kmsg.Request { return fetch(r) }),
		get("no partitions", with(func(req *kmsg.FetchRequest) { req.Topics[0].Partitions = []kmsg.FetchRequestTopicPartition{} }, want{topic: "a"})),
		get("the current leader epoch", func(r *run) kmsg.Request { return fetch(r, want{topic: "a", epoch: 1}) }),
		get("a leader epoch too new", func(r *run) kmsg.Request { return fetch(r, want{topic: "a", epoch: 2}) }),
		get("last fetched epoch is the current one", func(r *run) kmsg.Request {
			return fetch(r, want{topic: "a", offset: 3, epoch: 1, last: 1})
		}).since(12),
		get("last fetched epoch beyond the current one", func(r *run) kmsg.Request {
			return fetch(r, want{topic: "a", offset: 3, epoch: 1, last: 4})
		}).since(12),
		get("partition max bytes 1", func(r *run) kmsg.Request { return fetch(r, want{topic: "a", max: 1}) }),
		get("partition max bytes for one batch and a half", func(r *run) kmsg.Request { return fetch(r, want{topic: "a", max: 130}) }),
		get("partition max bytes 0", with(func(req *kmsg.FetchRequest) { req.Topics[0].Partitions[0].PartitionMaxBytes = 0 }, want{topic: "a"})),
		get("partition max bytes negative", func(r *run) kmsg.Request { return fetch(r, want{topic: "a", max: -1}) }),
		get("max bytes 1", with(func(req *kmsg.FetchRequest) { req.MaxBytes = 1 }, want{topic: "a"})),
		get("max bytes 0", with(func(req *kmsg.FetchRequest) { req.MaxBytes = 0 }, want{topic: "a"})),
		get("max bytes negative", with(func(req *kmsg.FetchRequest) { req.MaxBytes = -5 }, want{topic: "a"})),
		{name: "max bytes for one of two partitions", key: fetchKey, topics: a, shared: true, steps: append(append(log[:len(log):len(log)], fillPartition("a", 1, batch{})...),
			step{name: "first large", ask: with(func(req *kmsg.FetchRequest) { req.MaxBytes = 100 }, want{topic: "a"}, want{topic: "a", partition: 1})},
			step{name: "first small", ask: with(func(req *kmsg.FetchRequest) { req.MaxBytes = 100 }, want{topic: "a", partition: 1}, want{topic: "a"})},
			step{name: "first empty", ask: with(func(req *kmsg.FetchRequest) { req.MaxBytes = 1 }, want{topic: "a", partition: 1, offset: 1}, want{topic: "a"})},
			step{name: "second with its own limit", ask: with(func(*kmsg.FetchRequest) {}, want{topic: "a", partition: 1}, want{topic: "a", max: 1})},
		)},
		get("a repeated partition", func(r *run) kmsg.Request {
			return fetch(r, want{topic: "a"}, want{topic: "a", offset: 3})
		}),
		get("a repeated topic", with(func(req *kmsg.FetchRequest) {
			req.Topics = append(req.Topics, req.Topics[0])
		}, want{topic: "a"})),
		get("read committed", with(func(req *kmsg.FetchRequest) { req.IsolationLevel = 1 }, want{topic: "a"})),
		get("isolation level 7", with(func(req *kmsg.FetchRequest) { req.IsolationLevel = 7 }, want{topic: "a"})),
		get("as replica 3", with(func(req *kmsg.FetchRequest) { req.ReplicaID = 3; req.ReplicaState.ID = 3 }, want{topic: "a"})),
		get("as replica -2", with(func(req *kmsg.FetchRequest) { req.ReplicaID = -2; req.ReplicaState.ID = -2 }, want{topic: "a"})),
		get("from a rack", with(func(req *kmsg.FetchRequest) { req.Rack = "r1" }, want{topic: "a"})).since(11),
		get("a negative log start offset", with(func(req *kmsg.FetchRequest) { req.Topics[0].Partitions[0].LogStartOffset = -9 }, want{topic: "a"})).since(5),
		{name: "the wait ends with max wait", key: fetchKey, topics: a, shared: true, steps: []step{
			{ask: with(func(req *kmsg.FetchRequest) { req.MinBytes, req.MaxWaitMillis = 1, 300 }, want{topic: "a"}), waits: 300 * time.Millisecond},
		}},
		{name: "min bytes are not there", key: fetchKey, topics: a, shared: true, steps: append(log[:len(log):len(log)],
			step{ask: with(func(req *kmsg.FetchRequest) { req.MinBytes, req.MaxWaitMillis = 100_000, 300 }, want{topic: "a"}), waits: 300 * time.Millisecond})},
		{name: "min bytes are there", key: fetchKey, topics: a, shared: true, steps: append(log[:len(log):len(log)],
			step{ask: with(func(req *kmsg.FetchRequest) { req.MinBytes, req.MaxWaitMillis = 10, 3000 }, want{topic: "a"}), waits: 2 * time.Second})},
		{name: "an error ends the wait", key: fetchKey, topics: a, shared: true, steps: append(log[:len(log):len(log)],
			step{ask: with(func(req *kmsg.FetchRequest) { req.MinBytes, req.MaxWaitMillis = 100_000, 1000 }, want{topic: "a"}, want{topic: "a", partition: 5}), waits: time.Second})},
		{name: "no wait for no partitions", key: fetchKey, topics: a, shared: true, steps: []step{
			{ask: with(func(req *kmsg.FetchRequest) { req.MinBytes, req.MaxWaitMillis = 1, 3000 }), waits: 2 * time.Second}}},
		{name: "below the log's start", key: fetchKey, topics: a, shared: true, steps: append(log[:len(log):len(log)],
			deleteUpTo("a", 4), step{name: "below", ask: from(2)}, step{name: "inside", ask: from(4)}, step{name: "0", ask: from(0)})},
	}
}

func sessionCases() []scenario {
	a := []topic{{name: "a", partitions: 2}, {name: "b"}}
	keep := func(r *run, resp kmsg.Response) { r.session = resp.(*kmsg.FetchResponse).SessionID }
	in := func(name string, epoch int32, change func(r *run, req *kmsg.FetchRequest), wants ...want) step {
		return step{name: name, ask: func(r *run) kmsg.Request {
			req := fetch(r, wants...)
			req.SessionID, req.SessionEpoch = r.session, epoch
			if epoch == 0 {
				req.SessionID = 0
			}
			if change != nil {
				change(r, req)
			}
			return req
		}, keep: func(r *run, resp kmsg.Response) {
			if epoch == 0 {
				keep(r, resp)
			}
		}}
	}
	forget := func(partition int32) func(r *run, req *kmsg.FetchRequest) {
		return func(r *run, req *kmsg.FetchRequest) {
			f := kmsg.NewFetchRequestForgottenTopic()
			f.Topic, f.TopicID, f.Partitions = r.topic("a"), r.id("a"), []int32{partition}
			req.ForgottenTopics = append(req.ForgottenTopics, f)
		}
	}
	case_ := func(name string, steps ...step) scenario {
		return scenario{name: "session: " + name, key: fetchKey, from: 7, topics: a, steps: append(log[:len(log):len(log)], steps...)}
	}
	both := []want{{topic: "a"}, {topic: "a", partition: 1}, {topic: "b"}}
	more := fillPartition("a", 1, batch{})
	return []scenario{
		case_("begun, then nothing new", in("full", 0, nil, both...), in("incremental", 1, nil), in("incremental again", 2, nil)),
		case_("an advanced offset", in("full", 0, nil, both...), in("advance", 1, nil, want{topic: "a", offset: 6}), in("nothing", 2, nil)),
		case_("new records in one partition", append([]step{in("full", 0, nil, want{topic: "a", offset: 6}, want{topic: "a", partition: 1}, want{topic: "b"})}, append(more, in("incremental", 1, nil), in("not advanced", 2, nil))...)...),
		case_("a partition added", in("full", 0, nil, want{topic: "a"}), in("added", 1, nil, want{topic: "b"}), in("nothing", 2, nil)),
		case_("a partition forgotten", in("full", 0, nil, both...), in("forgotten", 1, forget(0)), in("nothing", 2, nil)),
		case_("an unknown partition in it", in("full", 0, nil, want{topic: "a"}, want{topic: "a", partition: 9}), in("incremental", 1, nil)),
		case_("an unknown topic in it", in("full", 0, nil, want{topic: "a"}, want{topic: "nowhere"}), in("incremental", 1, nil)),
		case_("the epoch repeated", in("full", 0, nil, both...), in("first", 1, nil), in("again", 1, nil)),
		case_("an epoch skipped", in("full", 0, nil, both...), in("skipped", 5, nil)),
		case_("an unknown session", in("full", 0, nil, both...), in("unknown", 1, func(r *run, req *kmsg.FetchRequest) { req.SessionID = 12345 })),
		case_("ended", in("full", 0, nil, both...), in("end", -1, nil, both...), in("afterwards", 1, nil)),
		case_("begun again", in("full", 0, nil, both...), in("full again", 0, func(r *run, req *kmsg.FetchRequest) { req.SessionID = r.session }, both...), in("old", 1, nil)),
		case_("begun without partitions", in("full", 0, nil), in("incremental", 1, nil)),
		case_("a negative epoch", in("full", 0, nil, both...), in("negative", -7, nil, both...)),
	}
}

func listOffsetsCases() []scenario {
	const key = 2
	a := []topic{{name: "a", partitions: 2}}
	scene := fill("a",
		batch{records: values("one", "two", "three")},          // 0-2 at +0 +1 +2
		batch{records: values("four"), at: firstTime + 1000},   // 3
		batch{records: values("five"), at: firstTime + 500},    // 4: earlier
		batch{records: values("a", "b"), at: firstTime + 2000}, // 5-6
	)
	list := func(timestamp int64, partitions ...int32) func(r *run) kmsg.Request {
		return func(r *run) kmsg.Request {
			req := kmsg.NewPtrListOffsetsRequest()
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = r.topic("a")
			if len(partitions) == 0 {
				partitions = []int32{0, 1}
			}
			for _, n := range partitions {
				p := kmsg.NewListOffsetsRequestTopicPartition()
				p.Partition, p.Timestamp = n, timestamp
				t.Partitions = append(t.Partitions, p)
			}
			req.Topics = append(req.Topics, t)
			return req
		}
	}
	change := func(ask func(r *run) kmsg.Request, c func(r *run, req *kmsg.ListOffsetsRequest)) func(r *run) kmsg.Request {
		return func(r *run) kmsg.Request {
			req := ask(r).(*kmsg.ListOffsetsRequest)
			c(r, req)
			return req
		}
	}
	get := func(name string, ask func(r *run) kmsg.Request) scenario {
		return scenario{name: name, key: key, topics: a, shared: true, steps: append(scene[:len(scene):len(scene)], step{ask: ask})}
	}
	return []scenario{
		get("latest", list(-1)), get("earliest", list(-2)), get("max timestamp", list(-3)), get("earliest local", list(-4)),
		get("latest tiered", list(-5)), get("earliest pending upload", list(-6)), get("timestamp -7", list(-7)), get("timestamp -100", list(-100)),
		get("before all", list(0)), get("of the first", list(firstTime)), get("inside a batch", list(firstTime+1)), get("the batch's last", list(firstTime+2)),
		get("between batches", list(firstTime+3)), get("the jump back", list(firstTime+600)), get("the last batch's second", list(firstTime+2001)),
		get("after all", list(firstTime+5000)),
		get("unknown partition", list(-1, 0, 9)), get("negative partition", list(-1, -3)), get("a repeated partition", list(-1, 0, 0)),
		get("unknown topic", change(list(-1), func(r *run, req *kmsg.ListOffsetsRequest) { req.Topics[0].Topic = r.topic("nowhere") })),
		get("illegal topic name", change(list(-1), func(r *run, req *kmsg.ListOffsetsRequest) { req.Topics[0].Topic = "a b" })),
		get("no topics", change(list(-1), func(r *run, req *kmsg.ListOffsetsRequest) { req.Topics = []kmsg.ListOffsetsRequestTopic{} })),
		get("a repeated topic", change(list(-1), func(r *run, req *kmsg.ListOffsetsRequest) { req.Topics = append(req.Topics, req.Topics[0]) })),
		get("read committed", change(list(-1), func(r *run, req *kmsg.ListOffsetsRequest) { req.IsolationLevel = 1 })),
		get("as replica 3", change(list(-1), func(r *run, req *kmsg.ListOffsetsRequest) { req.ReplicaID = 3 })),
		get("as a debugging consumer", change(list(-1), func(r *run, req *kmsg.ListOffsetsRequest) { req.ReplicaID = -2 })),
		get("the current epoch", change(list(-1, 0), func(r *run, req *kmsg.ListOffsetsRequest) {
			req.Topics[0].Partitions[0].CurrentLeaderEpoch = r.leaderEpoch("a")
		})),
		get("an epoch too new", change(list(-1, 0), func(r *run, req *kmsg.ListOffsetsRequest) {
			req.Topics[0].Partitions[0].CurrentLeaderEpoch = r.leaderEpoch("a") + 3
		})),
		{name: "after records were deleted", key: key, topics: a, shared: true, steps: append(scene[:len(scene):len(scene)], deleteUpTo("a", 2),
			step{name: "earliest", ask: list(-2)}, step{name: "local", ask: list(-4)}, step{name: "by time", ask: list(firstTime)}, step{name: "max timestamp", ask: list(-3)})},
		{name: "compressed batches", key: key, topics: a, shared: true, steps: append(fill("a", batch{codec: 1, records: values("a", "b", "c")}, batch{codec: 4, at: firstTime + 10, records: values("a", "b", "c")}),
			step{name: "second", ask: list(firstTime + 1)}, step{name: "second of the next", ask: list(firstTime + 11)}, step{name: "max", ask: list(-3)})},
		{name: "log append time", key: key, topics: []topic{{name: "a", partitions: 2, configs: []string{"message.timestamp.type", "LogAppendTime"}}}, steps: append(fill("a", batch{records: values("a", "b", "c")}),
			step{name: "by time", ask: list(firstTime)}, step{name: "in the future", ask: list(4_000_000_000_000)})},
		{name: "equal greatest timestamps", key: key, topics: a, shared: true, steps: append(fill("a", batch{records: []rec{{after: 5}, {after: 9}, {after: 9}}}, batch{records: []rec{{after: 9}}}),
			step{name: "max", ask: list(-3)})},
	}
}

// deleteUpTo is a quiet step that deletes the records of partition 0 below an offset.
func deleteUpTo(name string, offset int64) step {
	return step{name: "delete records", quiet: true, fixed: true, ask: func(r *run) kmsg.Request {
		req := deleteRecords(r, name, 0, offset)
		req.Version = 2
		return req
	}}
}

func deleteRecords(r *run, name string, partition int32, offset int64) *kmsg.DeleteRecordsRequest {
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version, req.TimeoutMillis = r.version, 10_000
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic = r.topic(name)
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Partition, p.Offset = partition, offset
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}
