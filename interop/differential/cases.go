package differential

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// unknownID is a topic id that no broker gives.
var unknownID = [16]byte{0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}

func scenarios() []scenario {
	var all []scenario
	for _, part := range [][]scenario{
		versionCases(), metadataCases(), produceCases(), batchCases(), idempotenceCases(), fetchCases(), sessionCases(), listOffsetsCases(),
		createTopicsCases(), deleteTopicsCases(), createPartitionsCases(), describeConfigsCases(), alterConfigsCases(), incrementalCases(),
		deleteRecordsCases(), initProducerCases(), epochCases(), clusterCases(), coordinatorCases(), topicPartitionsCases(), logDirsCases(), producersCases(),
		resourcesCases(), hostileCases(),
	} {
		all = append(all, part...)
	}
	return all
}

// one asks one thing that changes nothing.
func one(name string, key int16, topics []topic, ask func(r *run) kmsg.Request) scenario {
	return scenario{name: name, key: key, topics: topics, shared: true, steps: []step{{ask: ask}}}
}

// since limits a scenario to versions from v on.
func (s scenario) since(v int16) scenario { s.from = v; return s }

// upto limits a scenario to versions up to v.
func (s scenario) upto(v int16) scenario { s.to = v; return s }

func ptr[T any](v T) *T { return &v }

// part is one partition of a produce: topic, partition, bytes.
type part struct {
	topic     string
	partition int32
	records   []byte
}

func produce(r *run, acks int16, parts ...part) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version = r.version
	req.Acks, req.TimeoutMillis = acks, 10_000
	at := map[string]int{}
	for _, p := range parts {
		i, ok := at[p.topic]
		if !ok {
			t := kmsg.NewProduceRequestTopic()
			t.Topic, t.TopicID = r.topic(p.topic), r.idOr(p.topic)
			req.Topics = append(req.Topics, t)
			i = len(req.Topics) - 1
			at[p.topic] = i
		}
		rp := kmsg.NewProduceRequestTopicPartition()
		rp.Partition, rp.Records = p.partition, p.records
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, rp)
	}
	return req
}

// idOr is the topic's id, or one that is unknown where the topic is.
func (r *run) idOr(name string) [16]byte {
	if id, ok := r.byName[r.topic(name)]; ok {
		return id
	}
	return unknownID
}

// fill is a quiet step that produces batches, one request each, to partition 0 of a topic.
func fill(topic string, batches ...batch) []step { return fillPartition(topic, 0, batches...) }

func fillPartition(topic string, partition int32, batches ...batch) []step {
	var steps []step
	for _, b := range batches {
		steps = append(steps, step{name: "fill", quiet: true, fixed: true, ask: func(r *run) kmsg.Request {
			req := produce(r, -1, part{topic, partition, b.bytes()})
			req.Version = 9
			return req
		}})
	}
	return steps
}

// read is a step that shows partition 0 of a topic from an offset on.
func read(topic string, offset int64) step {
	return step{name: "read back", fixed: true, ask: func(r *run) kmsg.Request {
		req := fetch(r, want{topic: topic, offset: offset})
		req.Version = 11
		return req
	}}
}

// readLater is read for what becomes visible a little after it was acknowledged.
func readLater(topic string, offset int64) step {
	s := read(topic, offset)
	s.settles = true
	return s
}

// want is one partition of a fetch.
type want struct {
	topic     string
	partition int32
	offset    int64
	max       int32 // partition max bytes; default 1 MiB
	epoch     int32 // current leader epoch, +1: the first one here; 0: none
	last      int32 // last fetched epoch, the same way
}

func fetch(r *run, wants ...want) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version = r.version
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 100, 0, 50<<20
	req.SessionEpoch = -1
	for _, w := range wants {
		// Wants of one topic that follow each other share its entry.
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != r.topic(w.topic) {
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = r.topic(w.topic), r.idOr(w.topic)
			req.Topics = append(req.Topics, t)
		}
		t := &req.Topics[len(req.Topics)-1]
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = w.partition, w.offset, w.max
		if w.max == 0 {
			p.PartitionMaxBytes = 1 << 20
		}
		if w.epoch != 0 {
			p.CurrentLeaderEpoch = r.leaderEpoch(w.topic) + w.epoch - 1
		}
		if w.last != 0 {
			p.LastFetchedEpoch = r.leaderEpoch(w.topic) + w.last - 1
		}
		t.Partitions = append(t.Partitions, p)
	}
	return req
}
