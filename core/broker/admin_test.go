package broker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/orrery-log/orrery/core/door"
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
)

// desk is a broker whose medium is immediate, and one client of it.
type desk struct {
	t   require.TestingT
	b   *Broker
	now env.Now
	seq env.Seq
	n   uint64
}

func newDesk(t require.TestingT, properties ...env.Property) *desk {
	d := &desk{t: t, now: env.Now{Mono: env.Second, Wall: 1_000_000 * env.Second}}
	d.b = New(env.Config{NodeID: 1, ClusterID: "desk", Seed: 7, Limits: env.DefaultLimits(), Properties: properties, Rack: "r1",
		Advertised: []env.Endpoint{{Listener: "PLAINTEXT", Host: "inside", Port: 9092}, {Listener: "OUTSIDE", Host: "outside", Port: 9093}}}, d.now)
	d.step(env.Survived{Last: true})
	d.step(env.Opened{Conn: 1, Listener: "OUTSIDE"})
	return d
}

// step steps, and confirms what was journaled until nothing more is.
func (d *desk) step(ev env.Event) []env.Reply {
	var replies []env.Reply
	for {
		var out env.Outbox
		d.b.Step(d.now, ev, &out)
		d.b.CheckInvariants()
		replies = append(replies, out.Replies...)
		if len(out.Journal) == 0 {
			return replies
		}
		d.seq = out.Journal[len(out.Journal)-1].Seq
		ev = env.Journaled{Written: d.seq, Synced: d.seq}
	}
}

// ask sends a request and gives its one answer.
func (d *desk) ask(req kmsg.Request) kmsg.Response {
	d.n++
	replies := d.step(env.Request{Conn: 1, N: d.n, Body: req, Size: 100})
	require.Len(d.t, replies, 1, "%T", req)
	require.Equal(d.t, d.n, replies[0].N)
	require.Equal(d.t, req.GetVersion(), replies[0].Body.GetVersion())
	return replies[0].Body
}

func ask[R kmsg.Response](d *desk, req kmsg.Request) R { return d.ask(req).(R) }

func createRequest(version int16, names ...string) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = version
	for _, name := range names {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, 3, 1
		req.Topics = append(req.Topics, t)
	}
	return req
}

func (d *desk) create(names ...string) {
	for _, t := range ask[*kmsg.CreateTopicsResponse](d, createRequest(7, names...)).Topics {
		require.Zero(d.t, t.ErrorCode, t.Topic)
	}
}

func TestACreatedTopicIsToldWholeAndServes(t *testing.T) {
	d := newDesk(t, env.Property{Name: "log.retention.hours", Value: "2"})
	req := createRequest(7, "a")
	c := kmsg.NewCreateTopicsRequestTopicConfig()
	c.Name, c.Value = "segment.ms", kmsg.StringPtr(" 5000 ")
	req.Topics[0].Configs = append(req.Topics[0].Configs, c)
	topic := ask[*kmsg.CreateTopicsResponse](d, req).Topics[0]
	require.Zero(t, topic.ErrorCode)
	require.Nil(t, topic.ErrorMessage)
	require.Equal(t, int32(3), topic.NumPartitions)
	require.Equal(t, int16(1), topic.ReplicationFactor)
	values := map[string]string{}
	for _, c := range topic.Configs {
		values[c.Name] = fmt.Sprint(*c.Value, " ", c.Source)
	}
	require.Equal(t, "5000 1", values["segment.ms"])
	require.Equal(t, "7200000 4", values["retention.ms"])
	require.Equal(t, "synced 5", values["durability"])

	produce := kmsg.NewPtrProduceRequest()
	produce.Version, produce.Acks, produce.TimeoutMillis = 13, -1, 1000
	pt, pp := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	pt.TopicID, pp.Partition = topic.TopicID, 2
	pp.Records = record.Build(record.NoProducer(), []record.Record{{Time: d.now.WallMillis(), Value: []byte("x")}})
	pt.Partitions = append(pt.Partitions, pp)
	produce.Topics = append(produce.Topics, pt)
	d.n++
	replies := d.step(env.Request{Conn: 1, N: d.n, Body: produce, Size: len(pp.Records),
		Batches: []env.BatchInfo{{Count: 1, FirstTime: d.now.WallMillis(), MaxTime: d.now.WallMillis()}}})
	require.Len(t, replies, 1)
	require.Zero(t, replies[0].Body.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode)

	dirs := ask[*kmsg.DescribeLogDirsResponse](d, kmsg.NewPtrDescribeLogDirsRequest())
	require.Len(t, dirs.Dirs, 1)
	require.Equal(t, "./data", dirs.Dirs[0].Dir)
	require.Len(t, dirs.Dirs[0].Topics[0].Partitions, 3)
	require.Equal(t, int64(len(pp.Records)), dirs.Dirs[0].Topics[0].Partitions[2].Size)
	require.Zero(t, dirs.Dirs[0].Topics[0].Partitions[0].Size)
}

func TestARefusedTopicSaysWhyInEveryVersion(t *testing.T) {
	for version := int16(2); version <= 7; version++ {
		d := newDesk(t)
		res := ask[*kmsg.CreateTopicsResponse](d, createRequest(version, strings.Repeat("x", 32767), "good"))
		require.Equal(t, env.InvalidTopicException, res.Topics[0].ErrorCode)
		require.Less(t, len(*res.Topics[0].ErrorMessage), 1100)
		require.Zero(t, res.Topics[1].ErrorCode)
		var again kmsg.CreateTopicsResponse
		again.Version = version
		require.NoError(t, again.ReadFrom(res.AppendTo(nil)))
		require.Len(t, again.Topics, 2)
		if version >= 5 {
			require.NotNil(t, again.Topics[0].Configs, "null configs are not no configs")
			require.Equal(t, int32(-1), again.Topics[0].NumPartitions)
		}
	}
}

func TestTopicsAreDeletedInEveryVersion(t *testing.T) {
	for version := int16(1); version <= 6; version++ {
		d := newDesk(t)
		d.create("a", "b", "c")
		id := d.b.image.Topic("c").ID
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version = version
		req.TopicNames = []string{"a", "nope", "b"}
		for _, n := range req.TopicNames {
			r := kmsg.NewDeleteTopicsRequestTopic()
			r.Topic = kmsg.StringPtr(n)
			req.Topics = append(req.Topics, r)
		}
		r := kmsg.NewDeleteTopicsRequestTopic()
		r.TopicID = id
		req.Topics = append(req.Topics, r)
		got := map[string]int16{}
		for _, topic := range ask[*kmsg.DeleteTopicsResponse](d, req).Topics {
			got[*topic.Topic] = topic.ErrorCode
		}
		want := map[string]int16{"a": 0, "nope": env.UnknownTopicOrPartition, "b": 0}
		if version == 6 {
			want["c"] = 0
		}
		require.Equal(t, want, got)
		require.Nil(t, d.b.image.Topic("a"))
		_, there := d.b.find(env.LogID{Topic: id})
		require.Equal(t, version < 6, there)
	}
}

func TestDisabledDeletionHasAnOldAndANewError(t *testing.T) {
	d := newDesk(t, env.Property{Name: "delete.topic.enable", Value: "false"})
	d.create("a")
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TopicNames = []string{"a"}
	for version, code := range map[int16]int16{2: env.InvalidRequest, 3: env.TopicDeletionDisabled} {
		req.Version = version
		require.Equal(t, code, ask[*kmsg.DeleteTopicsResponse](d, req).Topics[0].ErrorCode)
	}
}

func TestATopicGrowsAndItsNewPartitionsServe(t *testing.T) {
	d := newDesk(t)
	d.create("a")
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.Version = 3
	r := kmsg.NewCreatePartitionsRequestTopic()
	r.Topic, r.Count = "a", 5
	req.Topics = append(req.Topics, r)
	require.Zero(t, ask[*kmsg.CreatePartitionsResponse](d, req).Topics[0].ErrorCode)
	slot, ok := d.b.find(env.LogID{Topic: d.b.image.Topic("a").ID, Partition: 4})
	require.True(t, ok)
	require.True(t, d.b.parts[slot].rep.Leading())
	require.Equal(t, env.InvalidPartitions, ask[*kmsg.CreatePartitionsResponse](d, req).Topics[0].ErrorCode)
	req.Topics[0].Count, req.Topics[0].Assignment = 6, []kmsg.CreatePartitionsRequestTopicAssignment{}
	require.Equal(t, env.InvalidReplicaAssignment, ask[*kmsg.CreatePartitionsResponse](d, req).Topics[0].ErrorCode)
}

func metadataRequest(version int16, names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.Topics, req.AllowAutoTopicCreation = version, []kmsg.MetadataRequestTopic{}, true
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	return req
}

func TestMetadataCreatesAndTellsTheLeaderAtOnce(t *testing.T) {
	for version := int16(0); version <= 13; version++ {
		d := newDesk(t, env.Property{Name: "num.partitions", Value: "2"})
		d.create("a.b")
		res := ask[*kmsg.MetadataResponse](d, metadataRequest(version, "new", "new", "a.b", "bad/name", "a_b", "__consumer_offsets"))
		require.Len(t, res.Topics, 5, "a topic that is asked twice is answered once")
		require.Zero(t, res.Topics[0].ErrorCode)
		require.Len(t, res.Topics[0].Partitions, 2)
		require.Equal(t, int32(1), res.Topics[0].Partitions[0].Leader)
		require.NotZero(t, res.Topics[0].TopicID)
		require.Zero(t, res.Topics[1].ErrorCode)
		require.Equal(t, env.InvalidTopicException, res.Topics[2].ErrorCode)
		require.Equal(t, env.UnknownTopicOrPartition, res.Topics[3].ErrorCode, "it collides with a.b")
		require.Equal(t, env.UnknownTopicOrPartition, res.Topics[4].ErrorCode)
		require.True(t, res.Topics[4].IsInternal)
		require.Len(t, res.Brokers, 1)
		require.Equal(t, "outside", res.Brokers[0].Host, "the listener that the client came in by")
		require.Equal(t, int32(9093), res.Brokers[0].Port)
		require.Equal(t, "r1", *res.Brokers[0].Rack)
		require.Equal(t, res.ControllerID, res.Brokers[0].NodeID)
	}
}

func TestMetadataCreatesNothingWhenItMayNot(t *testing.T) {
	d := newDesk(t, env.Property{Name: "auto.create.topics.enable", Value: "false"})
	require.Equal(t, env.UnknownTopicOrPartition, ask[*kmsg.MetadataResponse](d, metadataRequest(1, "t")).Topics[0].ErrorCode)
	d = newDesk(t)
	req := metadataRequest(4, "t")
	req.AllowAutoTopicCreation = false
	require.Equal(t, env.UnknownTopicOrPartition, ask[*kmsg.MetadataResponse](d, req).Topics[0].ErrorCode)
	d.step(env.Space{Free: 1})
	require.Equal(t, env.UnknownTopicOrPartition, ask[*kmsg.MetadataResponse](d, metadataRequest(4, "t")).Topics[0].ErrorCode)
	require.Empty(t, d.b.image.Topics)
}

func TestAllTopicsAndNoTopicsAreAskedDifferentlyByVersion(t *testing.T) {
	d := newDesk(t)
	d.create("a", "b")
	all := metadataRequest(0)
	require.Len(t, ask[*kmsg.MetadataResponse](d, all).Topics, 2)
	require.Empty(t, ask[*kmsg.MetadataResponse](d, metadataRequest(1)).Topics)
	all = metadataRequest(1)
	all.Topics = nil
	require.Len(t, ask[*kmsg.MetadataResponse](d, all).Topics, 2)
}

func TestMetadataByIDCreatesNothing(t *testing.T) {
	d := newDesk(t)
	d.create("a")
	req := metadataRequest(13, "ignored")
	req.Topics[0].TopicID = d.b.image.Topic("a").ID
	unknown := kmsg.NewMetadataRequestTopic()
	unknown.TopicID = [16]byte{9}
	req.Topics = append(req.Topics, unknown, kmsg.NewMetadataRequestTopic())
	res := ask[*kmsg.MetadataResponse](d, req)
	require.Equal(t, "a", *res.Topics[0].Topic)
	require.Equal(t, env.UnknownTopicID, res.Topics[1].ErrorCode)
	require.Nil(t, res.Topics[1].Topic)
	require.Equal(t, env.UnknownTopicID, res.Topics[2].ErrorCode)
	require.Len(t, d.b.image.Topics, 1)
}

func TestEveryAdminRequestIsRefusedBelowTheReserveButDeletion(t *testing.T) {
	d := newDesk(t)
	d.create("a", "b")
	d.step(env.Space{Free: 1})
	require.Equal(t, env.KafkaStorageError, ask[*kmsg.CreateTopicsResponse](d, createRequest(7, "c")).Topics[0].ErrorCode)
	parts := kmsg.NewPtrCreatePartitionsRequest()
	parts.Topics = append(parts.Topics, kmsg.NewCreatePartitionsRequestTopic())
	require.Equal(t, env.KafkaStorageError, ask[*kmsg.CreatePartitionsResponse](d, parts).Topics[0].ErrorCode)
	alter := kmsg.NewPtrAlterConfigsRequest()
	alter.Resources = append(alter.Resources, kmsg.NewAlterConfigsRequestResource())
	require.Equal(t, env.KafkaStorageError, ask[*kmsg.AlterConfigsResponse](d, alter).Resources[0].ErrorCode)
	require.Equal(t, env.KafkaStorageError, ask[*kmsg.IncrementalAlterConfigsResponse](d, incremental(2, "a")).Resources[0].ErrorCode)
	del := kmsg.NewPtrDeleteTopicsRequest()
	del.Version, del.TopicNames = 5, []string{"a"}
	require.Zero(t, ask[*kmsg.DeleteTopicsResponse](d, del).Topics[0].ErrorCode)
}

// incremental sets configs: name, value, name, value, …
func incremental(kind kmsg.ConfigResourceType, resource string, pairs ...string) *kmsg.IncrementalAlterConfigsRequest {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Version = 1
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, resource
	for i := 0; i < len(pairs); i += 2 {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Value = pairs[i], kmsg.StringPtr(pairs[i+1])
		r.Configs = append(r.Configs, c)
	}
	req.Resources = append(req.Resources, r)
	return req
}

func describeRequest(version int16, kind kmsg.ConfigResourceType, resource string, names ...string) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Version, req.IncludeSynonyms, req.IncludeDocumentation = version, true, true
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kind, resource, names
	req.Resources = append(req.Resources, r)
	return req
}

func TestAChangedConfigCountsAtOnceAndIsExplained(t *testing.T) {
	d := newDesk(t)
	d.create("a")
	slot, _ := d.b.find(env.LogID{Topic: d.b.image.Topic("a").ID})
	require.Zero(t, ask[*kmsg.IncrementalAlterConfigsResponse](d, incremental(kmsg.ConfigResourceTypeBroker, "", "log.retention.ms", "70")).Resources[0].ErrorCode)
	require.Equal(t, int64(70), d.b.parts[slot].set.RetentionMs)
	require.Zero(t, ask[*kmsg.IncrementalAlterConfigsResponse](d, incremental(kmsg.ConfigResourceTypeBroker, "1", "log.retention.ms", "60")).Resources[0].ErrorCode)
	require.Equal(t, int64(60), d.b.parts[slot].set.RetentionMs)
	require.Zero(t, ask[*kmsg.IncrementalAlterConfigsResponse](d, incremental(kmsg.ConfigResourceTypeTopic, "a", "retention.ms", "50")).Resources[0].ErrorCode)
	require.Equal(t, int64(50), d.b.parts[slot].set.RetentionMs)

	res := ask[*kmsg.DescribeConfigsResponse](d, describeRequest(4, kmsg.ConfigResourceTypeTopic, "a", "retention.ms", "no.such"))
	require.Len(t, res.Resources[0].Configs, 1)
	c := res.Resources[0].Configs[0]
	require.Equal(t, "50", *c.Value)
	require.Equal(t, kmsg.ConfigSourceDynamicTopicConfig, c.Source)
	require.Equal(t, kmsg.ConfigTypeLong, c.ConfigType)
	require.NotEmpty(t, *c.Documentation)
	var places []string
	for _, s := range c.ConfigSynonyms {
		places = append(places, fmt.Sprint(s.Name, "=", *s.Value, " ", int8(s.Source)))
	}
	require.Equal(t, []string{"retention.ms=50 1", "log.retention.ms=60 2", "log.retention.ms=70 3", "log.retention.hours=168 5"}, places)

	alter := kmsg.NewPtrAlterConfigsRequest()
	alter.Version = 2
	r := kmsg.NewAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, "a"
	alter.Resources = append(alter.Resources, r)
	require.Zero(t, ask[*kmsg.AlterConfigsResponse](d, alter).Resources[0].ErrorCode)
	require.Equal(t, int64(60), d.b.parts[slot].set.RetentionMs, "what an AlterConfigs does not state goes back")
}

func TestBrokerConfigsAreDescribed(t *testing.T) {
	d := newDesk(t, env.Property{Name: "num.partitions", Value: "4"})
	res := ask[*kmsg.DescribeConfigsResponse](d, describeRequest(1, kmsg.ConfigResourceTypeBroker, "1"))
	got := map[string]kmsg.DescribeConfigsResponseResourceConfig{}
	for _, c := range res.Resources[0].Configs {
		got[c.Name] = c
	}
	require.Equal(t, "4", *got["num.partitions"].Value)
	require.Equal(t, kmsg.ConfigSourceStaticBrokerConfig, got["num.partitions"].Source)
	require.True(t, got["num.partitions"].ReadOnly)
	require.False(t, got["log.retention.ms"].ReadOnly)
	require.Nil(t, got["log.retention.ms"].Value)

	require.Empty(t, ask[*kmsg.DescribeConfigsResponse](d, describeRequest(4, kmsg.ConfigResourceTypeBroker, "")).Resources[0].Configs)
	for resource, code := range map[string]int16{"2": env.InvalidRequest, "x": env.InvalidRequest} {
		require.Equal(t, code, ask[*kmsg.DescribeConfigsResponse](d, describeRequest(4, kmsg.ConfigResourceTypeBroker, resource)).Resources[0].ErrorCode)
	}
	for resource, code := range map[string]int16{"nope": env.UnknownTopicOrPartition, "": env.InvalidTopicException} {
		require.Equal(t, code, ask[*kmsg.DescribeConfigsResponse](d, describeRequest(4, kmsg.ConfigResourceTypeTopic, resource)).Resources[0].ErrorCode)
	}
	require.Equal(t, env.InvalidRequest, ask[*kmsg.DescribeConfigsResponse](d, describeRequest(4, 77, "")).Resources[0].ErrorCode)
}

func TestAResourceAskedTwiceIsDescribedOnce(t *testing.T) {
	d := newDesk(t)
	d.create("a")
	req := describeRequest(4, kmsg.ConfigResourceTypeTopic, "a")
	req.Resources = append(req.Resources, req.Resources[0])
	require.Len(t, ask[*kmsg.DescribeConfigsResponse](d, req).Resources, 1)
}

func TestConfigResourcesAreListed(t *testing.T) {
	d := newDesk(t)
	d.create("b", "a")
	list := func(version int16, types ...int8) string {
		req := kmsg.NewPtrListConfigResourcesRequest()
		req.Version, req.ResourceTypes = version, types
		res := ask[*kmsg.ListConfigResourcesResponse](d, req)
		text := fmt.Sprint(res.ErrorCode)
		for _, r := range res.ConfigResources {
			text += fmt.Sprint(" ", r.Type, ":", r.Name)
		}
		return text
	}
	require.Equal(t, "0 2:a 2:b 4:1", list(1))
	require.Equal(t, "0 4:1", list(1, 4, 4, 8, 16, 32))
	require.Equal(t, "0", list(0))
	require.Equal(t, "35", list(1, 2, 77))
}

func TestTheClusterIsDescribed(t *testing.T) {
	d := newDesk(t)
	req := kmsg.NewPtrDescribeClusterRequest()
	req.Version, req.IncludeClusterAuthorizedOperations = 2, true
	res := ask[*kmsg.DescribeClusterResponse](d, req)
	require.Equal(t, "desk", res.ClusterID)
	require.Equal(t, int32(1), res.ControllerID)
	require.Equal(t, "outside", res.Brokers[0].Host)
	require.Equal(t, int32(8096), res.ClusterAuthorizedOperations)
	for kind, code := range map[int8]int16{2: env.MismatchedEndpointType, 3: env.UnsupportedEndpointType} {
		req.EndpointType = kind
		res := ask[*kmsg.DescribeClusterResponse](d, req)
		require.Equal(t, code, res.ErrorCode)
		require.Empty(t, res.Brokers)
	}
}

func pageRequest(limit int32, names ...string) *kmsg.DescribeTopicPartitionsRequest {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = limit
	for _, n := range names {
		t := kmsg.NewDescribeTopicPartitionsRequestTopic()
		t.Topic = n
		req.Topics = append(req.Topics, t)
	}
	return req
}

func TestPagesCoverAllPartitionsOnceInOrder(t *testing.T) {
	d := newDesk(t)
	d.create("a", "b", "c")
	rapid.Check(t, func(t *rapid.T) {
		req := pageRequest(rapid.Int32Range(-1, 7).Draw(t, "limit"), rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "c", "nope"})).Draw(t, "names")...)
		wanted := map[string]bool{"a": len(req.Topics) == 0, "b": len(req.Topics) == 0, "c": len(req.Topics) == 0}
		for _, topic := range req.Topics {
			wanted[topic.Topic] = true
		}
		var want, got []string
		for _, name := range []string{"a", "b", "c"} {
			for n := 0; wanted[name] && n < 3; n++ {
				want = append(want, fmt.Sprint(name, n))
			}
		}
		for pages := 0; ; pages++ {
			require.Less(t, pages, 20, "the cursor moves on")
			res := describeTopicPartitions(d.b.image, req)
			count := 0
			for _, topic := range res.Topics {
				for _, p := range topic.Partitions {
					got = append(got, fmt.Sprint(*topic.Topic, p.Partition))
					count++
				}
			}
			require.LessOrEqual(t, count, max(1, int(req.ResponsePartitionLimit)))
			if res.NextCursor == nil {
				break
			}
			c := kmsg.NewDescribeTopicPartitionsRequestCursor()
			c.Topic, c.Partition = res.NextCursor.Topic, res.NextCursor.Partition
			req.Cursor = &c
		}
		require.Equal(t, want, got)
	})
}

func TestACursorThatPointsNowhereIsRefused(t *testing.T) {
	d := newDesk(t)
	d.create("a")
	for _, c := range []struct {
		topic     string
		partition int32
		code      int16
	}{{"a", -1, env.InvalidRequest}, {"zz", 0, env.InvalidRequest}, {"a", 99, 0}} {
		req := pageRequest(10, "a", "bad/name")
		cursor := kmsg.NewDescribeTopicPartitionsRequestCursor()
		cursor.Topic, cursor.Partition = c.topic, c.partition
		req.Cursor = &cursor
		res := ask[*kmsg.DescribeTopicPartitionsResponse](d, req)
		require.Equal(t, c.code, res.Topics[0].ErrorCode)
		require.Empty(t, res.Topics[0].Partitions)
	}
	res := ask[*kmsg.DescribeTopicPartitionsResponse](d, pageRequest(10, "a", "bad/name", "nope"))
	require.Equal(t, env.InvalidTopicException, res.Topics[1].ErrorCode)
	require.Equal(t, env.UnknownTopicOrPartition, res.Topics[2].ErrorCode)
}

func TestDecisionsAreMadeOneAfterTheOther(t *testing.T) {
	d := newDesk(t)
	var out env.Outbox
	for n, name := range []string{"a.b", "a_b"} {
		d.b.Step(d.now, env.Request{Conn: 1, N: uint64(n + 1), Body: createRequest(7, name)}, &out)
	}
	require.Len(t, out.Journal, 1, "the second is not decided while the first is on its way")
	require.Empty(t, out.Replies)
	seq := out.Journal[0].Seq
	out.Reset()
	d.b.Step(d.now, env.Journaled{Written: seq, Synced: seq}, &out)
	require.Len(t, out.Replies, 2)
	require.Zero(t, out.Replies[0].Body.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode)
	require.Equal(t, env.InvalidTopicException, out.Replies[1].Body.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode)
}

// Every answer of every served version can be written and read again.
func TestAdminAnswersSurviveTheWireInEveryVersion(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.Metadata, kmsg.CreateTopics, kmsg.DeleteTopics, kmsg.CreatePartitions, kmsg.DescribeConfigs, kmsg.AlterConfigs,
		kmsg.IncrementalAlterConfigs, kmsg.DescribeCluster, kmsg.DescribeTopicPartitions, kmsg.DescribeLogDirs, kmsg.ListConfigResources} {
		low, high, _, ok := door.Range(int16(key))
		require.True(t, ok, "the door lets %d in", key)
		for version := low; version <= high; version++ {
			d := newDesk(t)
			d.create("a")
			for _, req := range []kmsg.Request{kmsg.RequestForKey(int16(key)), describeRequest(version, 2, "a"), incremental(2, "a", "x", "1"), metadataRequest(version, "a", "x"), createRequest(version, "b")} {
				if req.Key() != int16(key) {
					continue
				}
				req.SetVersion(version)
				res := d.ask(req)
				bytes := res.AppendTo(nil)
				again := req.ResponseKind()
				require.NoError(t, again.ReadFrom(bytes), "key %d version %d", key, version)
				require.Equal(t, bytes, again.AppendTo(nil), "key %d version %d", key, version)
			}
		}
	}
}
