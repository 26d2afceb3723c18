package metadata

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orrery-log/orrery/core/env"
)

func drawID(t *rapid.T) (id ID) {
	copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
	return id
}

func drawInts(t *rapid.T, label string) []int32 {
	return append([]int32{}, rapid.SliceOfN(rapid.Int32(), 0, 4).Draw(t, label)...)
}

// drawRecord draws any record, sensible or not.
func drawRecord(t *rapid.T) Record {
	text := rapid.StringN(0, 20, 60)
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		r := RegisterBroker{Broker: rapid.Int32().Draw(t, "broker"), Incarnation: drawID(t), Epoch: rapid.Int64().Draw(t, "epoch"),
			Rack: text.Draw(t, "rack"), Fenced: rapid.Bool().Draw(t, "fenced")}
		for range rapid.IntRange(0, 3).Draw(t, "endpoints") {
			r.Endpoints = append(r.Endpoints, Endpoint{text.Draw(t, "listener"), text.Draw(t, "host"), rapid.Uint16().Draw(t, "port"), rapid.Int16().Draw(t, "protocol")})
		}
		return r
	case 1:
		return UnregisterBroker{rapid.Int32().Draw(t, "broker"), rapid.Int64().Draw(t, "epoch")}
	case 2:
		return AddTopic{text.Draw(t, "name"), drawID(t)}
	case 3:
		return AddPartition{Topic: drawID(t), Partition: rapid.Int32().Draw(t, "partition"), PartitionState: PartitionState{
			Replicas: drawInts(t, "replicas"), ISR: drawInts(t, "isr"), Leader: rapid.Int32().Draw(t, "leader"),
			LeaderEpoch: rapid.Int32().Draw(t, "leader epoch"), PartitionEpoch: rapid.Int32().Draw(t, "partition epoch")}}
	case 4:
		r := SetConfig{Resource: Resource{ResourceType(rapid.Int8().Draw(t, "type")), text.Draw(t, "resource")}, Name: text.Draw(t, "name"), Remove: rapid.Bool().Draw(t, "remove")}
		if !r.Remove {
			r.Value = text.Draw(t, "value")
		}
		return r
	case 5:
		r := ChangePartition{Topic: drawID(t), Partition: rapid.Int32().Draw(t, "partition"), Leader: rapid.Int32().Draw(t, "leader")}
		if rapid.Bool().Draw(t, "has isr") {
			r.ISR = drawInts(t, "isr")
		}
		if rapid.Bool().Draw(t, "has replicas") {
			r.Replicas = drawInts(t, "replicas")
		}
		return r
	case 6:
		return RemoveTopic{drawID(t)}
	case 7:
		return SetFeature{text.Draw(t, "name"), rapid.Int16().Draw(t, "level")}
	case 8:
		return ProducerIDs{rapid.Int32().Draw(t, "broker"), rapid.Int64().Draw(t, "epoch"), rapid.Int64().Draw(t, "next")}
	default:
		return NoOp{}
	}
}

func TestRecordsComeBackFromTheirBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecord(t)
		b := Append(nil, r)
		got, err := Parse(b)
		require.NoError(t, err)
		require.Equal(t, r, got)
		for cut := range len(b) {
			_, err := Parse(b[:cut])
			require.Error(t, err, "%T cut to %d of %d bytes", r, cut, len(b))
		}
		_, err = Parse(append(b, 0))
		require.Error(t, err)
	})
}

// The bytes of these records were taken from the specification of KRaft's framing
// by hand, so that both sides of the codec can not be wrong in the same way.
func TestRecordsAreFramedAsKRaftFramesThem(t *testing.T) {
	id := ID{0xa, 0xb, 15: 0xf}
	for _, c := range []struct {
		r    Record
		want string
	}{
		{AddTopic{"ab", id}, "01 02 00 03 61 62 0a 0b 00 00 00 00 00 00 00 00 00 00 00 00 00 0f 00"},
		{SetConfig{Resource: Resource{TopicResource, "t"}, Name: "n", Value: ""}, "01 04 00 02 02 74 02 6e 01 00"},
		{SetConfig{Resource: Resource{TopicResource, "t"}, Name: "n", Remove: true}, "01 04 00 02 02 74 02 6e 00 00"},
		{ProducerIDs{1, 2, 3}, "01 0f 00 00 00 00 01 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 03 00"},
		{ChangePartition{Topic: id, Partition: 1, Leader: 7}, "01 05 00 00 00 00 01 0a 0b 00 00 00 00 00 00 00 00 00 00 00 00 00 0f 01 01 04 00 00 00 07"},
		{SetFeature{"f", 9}, "01 0c 00 02 66 00 09 00"},
		{NoOp{}, "01 14 00 00"},
	} {
		require.Equal(t, c.want, fmt.Sprintf("% x", Append(nil, c.r)), "%T", c.r)
	}
}

func TestNewerAndForeignRecordsAreRefused(t *testing.T) {
	for _, c := range []struct {
		b    []byte
		want string
	}{
		{[]byte{2, 20, 0, 0}, "frame version 2"},
		{[]byte{1, 20, 1, 0}, "newer release"},
		{[]byte{1, 77, 0, 0}, "newer release"},
		{[]byte{1, 20, 0, 0xff, 0xff, 0xff, 0xff, 0x0f}, "uvarint"}, // 2^32-1 tagged fields
		{[]byte{1, 2, 0, 0xff, 0xff, 0xff, 0xff, 0x0f}, "ends too early"},
		{nil, "uvarint"},
	} {
		_, err := Parse(c.b)
		require.ErrorContains(t, err, c.want)
	}
}

func TestUnknownTaggedFieldsAreSkipped(t *testing.T) {
	got, err := Parse([]byte{1, 20, 0, 1, 9, 2, 0xde, 0xad})
	require.NoError(t, err)
	require.Equal(t, NoOp{}, got)
}

func FuzzParse(f *testing.F) {
	id := ID{1, 2, 3}
	for _, r := range []Record{
		RegisterBroker{Broker: 1, Endpoints: []Endpoint{{"PLAINTEXT", "h", 9092, 0}}, Rack: "r"}, UnregisterBroker{1, 2}, AddTopic{"t", id},
		AddPartition{Topic: id, PartitionState: PartitionState{Replicas: []int32{1}, ISR: []int32{1}, Leader: 1}},
		SetConfig{Resource: Resource{TopicResource, "t"}, Name: "n", Value: "v"}, ChangePartition{Topic: id, ISR: []int32{1}, Leader: LeaderAsIs},
		RemoveTopic{id}, SetFeature{"f", 1}, ProducerIDs{1, 2, 3}, NoOp{},
	} {
		f.Add(Append(nil, r))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Parse(b)
		if err != nil {
			return
		}
		again, err := Parse(Append(nil, r)) // what was read can be written and read
		require.NoError(t, err)
		require.Equal(t, r, again)
	})
}

// replayed is the image that the image's own records build.
func replayed(t require.TestingT, m *Image) *Image {
	other := NewImage()
	for _, r := range m.Records() {
		parsed, err := Parse(Append(nil, r))
		require.NoError(t, err)
		other.Apply(parsed)
	}
	return other
}

func TestAnImageIsRebuiltFromItsOwnRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := NewImage()
		for i := range rapid.IntRange(0, 40).Draw(t, "records") {
			m.Apply(drawFitting(t, m, i))
		}
		other := replayed(t, m)
		require.Len(t, other.Topics, len(m.Topics))
		for i := range m.Topics {
			require.Equal(t, m.Topics[i], other.Topics[i])
		}
		require.Equal(t, m.Configs, other.Configs)
		require.Equal(t, m.Digest(), other.Digest())
	})
}

// drawFitting draws a record that a controller could write now.
func drawFitting(t *rapid.T, m *Image, nth int) Record {
	broker := rapid.Int32Range(1, 3).Draw(t, "broker")
	kind := rapid.IntRange(0, 8).Draw(t, "kind")
	if len(m.Topics) == 0 && kind >= 5 {
		kind = 1
	}
	var topic *Topic
	if kind >= 5 || kind == 2 && len(m.Topics) > 0 {
		topic = rapid.SampledFrom(m.Topics).Draw(t, "topic")
	}
	switch kind {
	case 0:
		return RegisterBroker{Broker: broker, Epoch: int64(nth), Endpoints: []Endpoint{{"PLAINTEXT", "h", 1, 0}}}
	case 2:
		r := SetConfig{Resource: Resource{BrokerResource, rapid.SampledFrom([]string{"", "1"}).Draw(t, "node")}, Name: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "config")}
		if topic != nil && rapid.Bool().Draw(t, "of topic") {
			r.Resource = Resource{TopicResource, topic.Name}
		}
		if r.Remove = rapid.Bool().Draw(t, "remove"); !r.Remove {
			r.Value = fmt.Sprint(nth)
		}
		return r
	case 3:
		return SetFeature{rapid.SampledFrom([]string{"a", "b"}).Draw(t, "feature"), rapid.Int16Range(0, 2).Draw(t, "level")}
	case 4:
		return ProducerIDs{broker, 0, rapid.Int64Range(0, 100).Draw(t, "next")}
	case 5, 6:
		return AddPartition{Topic: topic.ID, Partition: int32(len(topic.Partitions)), PartitionState: PartitionState{Replicas: []int32{broker}, ISR: []int32{broker}, Leader: broker}}
	case 7:
		if len(topic.Partitions) == 0 {
			return NoOp{}
		}
		n := rapid.IntRange(0, len(topic.Partitions)-1).Draw(t, "partition")
		return ChangePartition{Topic: topic.ID, Partition: int32(n), ISR: []int32{broker}, Leader: broker}
	case 8:
		return RemoveTopic{topic.ID}
	default:
		return AddTopic{fmt.Sprintf("t%d", nth), ID{0: byte(nth), 1: 1}}
	}
}

func TestARegistrationRaisesTheEpochOfAllThatItsBrokerLeads(t *testing.T) {
	m := NewImage()
	m.Apply(AddTopic{"t", ID{1}})
	m.Apply(AddPartition{Topic: ID{1}, Partition: 0, PartitionState: PartitionState{Replicas: []int32{1}, ISR: []int32{1}, Leader: 1, LeaderEpoch: 4, PartitionEpoch: 6}})
	m.Apply(AddPartition{Topic: ID{1}, Partition: 1, PartitionState: PartitionState{Replicas: []int32{2}, ISR: []int32{2}, Leader: 2, LeaderEpoch: 4}})
	m.Apply(RegisterBroker{Broker: 1, Epoch: 9})
	p := m.Topic("t").Partitions
	require.Equal(t, int32(5), p[0].LeaderEpoch)
	require.Equal(t, int32(7), p[0].PartitionEpoch)
	require.Equal(t, int32(4), p[1].LeaderEpoch)
}

func TestATopicTakesItsConfigsWithIt(t *testing.T) {
	m := NewImage()
	m.Apply(AddTopic{"t", ID{1}})
	m.Apply(SetConfig{Resource: Resource{TopicResource, "t"}, Name: "retention.ms", Value: "1"})
	require.Equal(t, []env.Property{{Name: "retention.ms", Value: "1"}}, m.TopicConfigs("t"))
	m.Apply(RemoveTopic{ID{1}})
	require.Nil(t, m.Topic("t"))
	require.Nil(t, m.TopicByID(ID{1}))
	require.Empty(t, m.TopicConfigs("t"))
	m.Apply(AddTopic{"t", ID{2}})
	require.Empty(t, m.TopicConfigs("t"))
}

func TestWhatWasReadStaysAsItWas(t *testing.T) {
	m := NewImage()
	m.Apply(AddTopic{"t", ID{1}})
	m.Apply(AddPartition{Topic: ID{1}, PartitionState: PartitionState{Replicas: []int32{1, 2}, ISR: []int32{1, 2}, Leader: 1}})
	m.Apply(SetConfig{Resource: Resource{TopicResource, "t"}, Name: "a", Value: "1"})
	isr, configs := m.Topic("t").Partitions[0].ISR, m.TopicConfigs("t")
	m.Apply(ChangePartition{Topic: ID{1}, ISR: []int32{1}, Leader: LeaderAsIs})
	m.Apply(SetConfig{Resource: Resource{TopicResource, "t"}, Name: "a", Value: "2"})
	require.Equal(t, []int32{1, 2}, isr)
	require.Equal(t, "1", configs[0].Value)
}

func TestDifferentImagesHaveDifferentDigests(t *testing.T) {
	a, b := NewImage(), NewImage()
	a.Apply(AddTopic{"t", ID{1}})
	b.Apply(AddTopic{"t", ID{2}})
	require.NotEqual(t, a.Digest(), b.Digest())
	require.NotEqual(t, NewImage().Digest(), a.Digest())
}

func TestALeaderOutsideItsISRIsRefused(t *testing.T) {
	m := NewImage()
	m.Apply(AddTopic{"t", ID{1}})
	require.PanicsWithValue(t, "metadata: t-0 is led by 3, which is not in its ISR [1]", func() {
		m.Apply(AddPartition{Topic: ID{1}, PartitionState: PartitionState{Replicas: []int32{1}, ISR: []int32{1}, Leader: 3}})
	})
}
