package differential

import (
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// hostileCases ask each API in ways that no client does.
func hostileCases() []scenario {
	var all []scenario
	var keys []int16
	for key := range served {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i] < keys[j] })
	for _, key := range keys {
		if key == 18 {
			continue
		}
		version := func(v int16) func(*run) (int16, int16, []byte) {
			return func(*run) (int16, int16, []byte) { return key, v, valid(key, v).AppendTo(nil) }
		}
		changed := func(change func(b []byte) []byte) func(r *run) (int16, int16, []byte) {
			return func(r *run) (int16, int16, []byte) {
				return key, r.version, change(valid(key, r.version).AppendTo(nil))
			}
		}
		low, high := served[key][0], served[key][1]
		all = append(all,
			scenario{name: "versions nobody has", key: key, from: high, to: high, steps: []step{
				{name: "above", raw: version(high + 1)}, {name: "99", raw: version(99)}, {name: "-1", raw: version(-1)}, {name: "below", raw: version(low - 1)},
			}},
			scenario{name: "cut in half", key: key, steps: []step{{raw: changed(func(b []byte) []byte { return b[:len(b)/2] })}}},
			scenario{name: "empty body", key: key, steps: []step{{raw: changed(func([]byte) []byte { return nil })}}},
			scenario{name: "bytes behind the body", key: key, steps: []step{{raw: changed(func(b []byte) []byte { return append(b, 0, 1, 2, 3) })}}},
		)
		if tagged := firstFlexible(key); tagged <= high {
			all = append(all, scenario{name: "an unknown tag", key: key, from: tagged, steps: []step{
				{raw: changed(func(b []byte) []byte {
					return append(b[:len(b)-1], 1, 0x80, 0x08, 3, 'x', 'y', 'z') // one tag, number 1024
				})},
			}})
		}
	}
	arrays := []struct {
		key, version int16
		prefix       []byte // what stands before the array
	}{
		{0, 3, []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1}}, {2, 1, []byte{0xff, 0xff, 0xff, 0xff}}, {3, 1, nil}, {3, 0, nil}, {19, 2, nil}, {20, 1, nil}, {21, 0, nil}, {23, 2, nil}, {32, 1, nil},
		{33, 0, nil}, {35, 1, nil}, {37, 0, nil}, {44, 0, nil},
	}
	for _, a := range arrays {
		for _, n := range []int32{-1, -2, 1 << 30, 1<<31 - 1} {
			all = append(all, scenario{name: fmt.Sprintf("array length %d", n), key: a.key, from: a.version, once: true, steps: []step{
				{raw: func(*run) (int16, int16, []byte) {
					b := binary.BigEndian.AppendUint32(append([]byte{}, a.prefix...), uint32(n))
					return a.key, a.version, append(b, make([]byte, 16)...)
				}},
			}})
		}
	}
	all = append(all, scenario{name: "keys nobody has", key: 3, once: true, steps: []step{
		{name: "key 999", raw: func(*run) (int16, int16, []byte) { return 999, 0, nil }},
		{name: "key -1", raw: func(*run) (int16, int16, []byte) { return -1, 0, nil }},
		{name: "key 4, which was removed", raw: func(*run) (int16, int16, []byte) { return 4, 0, nil }},
		{name: "key 52, which is the quorum's", raw: func(*run) (int16, int16, []byte) { return 52, 0, nil }},
	}})
	return all
}

// valid is a request with nothing in it, or nearly.
func valid(key, version int16) kmsg.Request {
	req := kmsg.RequestForKey(key)
	if req == nil {
		panic(fmt.Sprintf("differential: no request for key %d", key))
	}
	req.SetVersion(version)
	switch q := req.(type) {
	case *kmsg.ProduceRequest:
		q.Acks, q.TimeoutMillis = 1, 1000
	case *kmsg.FetchRequest:
		q.ReplicaID, q.MaxWaitMillis, q.MaxBytes, q.SessionEpoch = -1, 0, 1<<20, -1
		q.ReplicaState.ID = -1
	case *kmsg.ListOffsetsRequest:
		q.ReplicaID = -1
	case *kmsg.MetadataRequest:
		q.Topics = []kmsg.MetadataRequestTopic{}
		if version == 0 {
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = ptr("=")
			q.Topics = append(q.Topics, t)
		}
	case *kmsg.InitProducerIDRequest:
		q.TransactionTimeoutMillis, q.ProducerID, q.ProducerEpoch = 1000, -1, -1
	case *kmsg.OffsetForLeaderEpochRequest:
		q.ReplicaID = -1
	case *kmsg.DescribeClusterRequest:
		q.EndpointType = 1
	case *kmsg.DescribeLogDirsRequest:
		q.Topics = []kmsg.DescribeLogDirsRequestTopic{}
	case *kmsg.CreateTopicsRequest:
		q.TimeoutMillis = 1000
	case *kmsg.DescribeTopicPartitionsRequest:
		q.ResponsePartitionLimit = 100
		t := kmsg.NewDescribeTopicPartitionsRequestTopic()
		t.Topic = "="
		q.Topics = append(q.Topics, t)
	}
	return req
}

func firstFlexible(key int16) int16 {
	for v := int16(0); v < 100; v++ {
		req := kmsg.RequestForKey(key)
		req.SetVersion(v)
		if req.IsFlexible() {
			return v
		}
	}
	return 100
}
