package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orrery-log/orrery/core/config"
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/metadata"
)

// world is an image with what the tests decide on, and applies what is decided.
type world struct {
	Context
}

func newWorld(brokers ...int32) *world {
	w := &world{Context{Image: metadata.NewImage(), Seed: 7}}
	for _, id := range brokers {
		w.apply([]metadata.Record{metadata.RegisterBroker{Broker: id}})
	}
	return w
}

// apply sends records through their bytes, as the metadata log does.
func (w *world) apply(records []metadata.Record) {
	for _, r := range records {
		parsed, err := metadata.Parse(metadata.Append(nil, r))
		if err != nil {
			panic(err)
		}
		w.Image.Apply(parsed)
		w.At++
	}
}

func (w *world) create(topics ...NewTopic) []CreatedTopic {
	records, answers := CreateTopics(w.Context, topics, false)
	w.apply(records)
	return answers
}

func topic(name string, change ...func(*NewTopic)) NewTopic {
	t := NewTopic{Name: name, Partitions: 1, Replication: 1}
	for _, f := range change {
		f(&t)
	}
	return t
}

func counts(partitions int32, replication int16) func(*NewTopic) {
	return func(t *NewTopic) { t.Partitions, t.Replication = partitions, replication }
}

func with(name, value string) func(*NewTopic) {
	return func(t *NewTopic) { t.Configs = append(t.Configs, NewConfig{Name: name, Value: value}) }
}

func on(partition int32, replicas ...int32) func(*NewTopic) {
	return func(t *NewTopic) {
		t.Partitions, t.Replication = -1, -1
		t.Assignment = append(t.Assignment, Assignment{partition, replicas})
	}
}

func TestTopicsAreCreatedOrRefusedAsKafkaDoes(t *testing.T) {
	w := newWorld(1)
	w.apply([]metadata.Record{metadata.RegisterBroker{Broker: 5, Fenced: true}})
	require.True(t, w.create(topic("there"), topic("a.b"))[0].Problem.None())
	for _, c := range []struct {
		topic NewTopic
		code  int16
		says  string
	}{
		{topic("t"), env.NoError, ""},
		{topic("t", counts(-1, -1)), env.NoError, ""},
		{topic("there"), env.TopicAlreadyExists, "already exists"},
		{topic("t", counts(0, 1)), env.InvalidPartitions, "non-positive"},
		{topic("t", counts(-2, 1)), env.InvalidPartitions, "non-positive"},
		{topic("t", counts(1, 0)), env.InvalidReplicationFactor, "larger than 0"},
		{topic("t", counts(1, -2)), env.InvalidReplicationFactor, "larger than 0"},
		{topic("t", counts(1, 2)), env.InvalidReplicationFactor, "only 1 broker(s)"},
		{topic("t", counts(10_000, 1)), env.NoError, ""},
		{topic("t", counts(10_001, 1)), env.PolicyViolation, "Excessively large"},
		{topic("t", counts(1_000_000_000, 1)), env.PolicyViolation, "Excessively large"},
		{topic(""), env.InvalidTopicException, "empty string"},
		{topic("."), env.InvalidTopicException, "'.' is not allowed"},
		{topic(".."), env.InvalidTopicException, "'..' is not allowed"},
		{topic("bad/name"), env.InvalidTopicException, "other than ASCII"},
		{topic("bad\xff"), env.InvalidTopicException, "'bad?'"},
		{topic(strings.Repeat("a", 249)), env.NoError, ""},
		{topic(strings.Repeat("a", 250)), env.InvalidTopicException, "max allowed length 249"},
		{topic(strings.Repeat("a", 32767)), env.InvalidTopicException, "max allowed length 249"},
		{topic("a_b"), env.InvalidTopicException, "collides with existing topic: a.b"},
		{topic("__cluster_metadata"), env.InvalidRequest, "prohibited"},
		{topic("t", with("foo.bar", "1")), env.InvalidConfig, "Unknown topic config name: foo.bar"},
		{topic("t", with("retention.ms", "abc")), env.InvalidConfig, "retention.ms"},
		{topic("t", with("retention.ms", "1"), with("retention.ms", "2")), env.NoError, ""},
		{topic("t", with("min.compaction.lag.ms", "10"), with("max.compaction.lag.ms", "5")), env.InvalidConfig, "(10) > max.compaction.lag.ms (5)"},
		{topic("t", with("min.insync.replicas", "3")), env.NoError, ""},
		{topic("t", on(0, 1), on(1, 1)), env.NoError, ""},
		{topic("t", on(1, 1), on(0, 1)), env.NoError, ""},
		{topic("t", on(0, 1), counts(2, -1)), env.InvalidRequest, "numPartitions was not set to -1"},
		{topic("t", on(0, 1), counts(-1, 1)), env.InvalidRequest, "replication factor was not set to -1"},
		{topic("t", on(0, 1), on(2, 1)), env.InvalidReplicaAssignment, "consecutive"},
		{topic("t", on(-1, 1)), env.InvalidReplicaAssignment, "consecutive"},
		{topic("t", on(0, 1), on(0, 1)), env.InvalidReplicaAssignment, "multiple"},
		{topic("t", on(0, 7)), env.InvalidReplicaAssignment, "no such broker"},
		{topic("t", on(0, 1, 1)), env.InvalidReplicaAssignment, "more than once"},
		{topic("t", on(0)), env.InvalidReplicaAssignment, "empty replica list"},
		{topic("t", on(0, 5)), env.InvalidReplicaAssignment, "fenced"},
		{topic("t", on(0, 5, 1)), env.NoError, ""},
	} {
		records, answers := CreateTopics(w.Context, []NewTopic{c.topic}, false)
		require.Len(t, answers, 1)
		require.Equal(t, c.code, answers[0].Problem.Code, "%.20s: %s", c.topic.Name, answers[0].Problem.Message)
		require.Contains(t, answers[0].Problem.Message, c.says)
		require.Less(t, len(answers[0].Problem.Message), 1000, "a message must fit the old versions' strings")
		require.Equal(t, c.code == env.NoError, len(records) > 0)
	}
}

func TestAllPartitionsOfARequestCountTogether(t *testing.T) {
	w := newWorld(1)
	for _, a := range w.create(topic("a", counts(6000, 1)), topic("b", counts(4001, 1))) {
		require.Equal(t, env.PolicyViolation, a.Problem.Code)
	}
}

func TestOneRefusedTopicDoesNotStopTheOthers(t *testing.T) {
	w := newWorld(1)
	answers := w.create(topic("a"), topic("twice"), topic("bad/name"), topic("twice"), topic("x.y"), topic("x_y"))
	var codes []int16
	for _, a := range answers {
		codes = append(codes, a.Problem.Code)
	}
	require.Equal(t, []int16{env.NoError, env.InvalidRequest, env.InvalidTopicException, env.NoError, env.InvalidTopicException}, codes)
	require.NotNil(t, w.Image.Topic("a"))
	require.Nil(t, w.Image.Topic("twice"))
}

func TestValidateOnlyAnswersAndChangesNothing(t *testing.T) {
	w := newWorld(1)
	records, answers := CreateTopics(w.Context, []NewTopic{topic("t", counts(3, 1))}, true)
	require.Empty(t, records)
	require.Equal(t, int32(3), answers[0].Partitions)
}

func TestDefaultsComeFromTheBrokersSettings(t *testing.T) {
	w := newWorld(1, 2)
	w.Layers.Static = []env.Property{{Name: "default.replication.factor", Value: "2"}, {Name: "num.partitions", Value: "4"}}
	a := w.create(topic("t", counts(-1, -1), with("retention.ms", " 5 ")))[0]
	require.Equal(t, int32(4), a.Partitions)
	require.Equal(t, int16(2), a.Replication)
	require.Equal(t, []env.Property{{Name: "retention.ms", Value: "5"}}, w.Image.TopicConfigs("t"))
	for _, p := range w.Image.Topic("t").Partitions {
		require.Len(t, p.Replicas, 2)
		require.Equal(t, p.Replicas, p.ISR)
		require.Equal(t, p.Replicas[0], p.Leader)
	}
}

func TestLeadersGoAroundTheBrokers(t *testing.T) {
	w := newWorld(1, 2, 3)
	w.apply([]metadata.Record{metadata.RegisterBroker{Broker: 9, Fenced: true}})
	w.create(topic("t", counts(6, 2)))
	led := map[int32]int{}
	for _, p := range w.Image.Topic("t").Partitions {
		led[p.Leader]++
	}
	require.Equal(t, map[int32]int{1: 2, 2: 2, 3: 2}, led)
}

func TestARecreatedTopicHasAnotherID(t *testing.T) {
	w := newWorld(1)
	seen := map[metadata.ID]bool{}
	for range 50 {
		id := w.create(topic("t"))[0].ID
		require.False(t, seen[id])
		seen[id] = true
		records, _ := DeleteTopics(w.Context, []TopicRef{{Name: "t", Named: true}})
		w.apply(records)
	}
}

func TestDrawnIDsAreUsable(t *testing.T) {
	w := newWorld(1)
	for at := range int64(2000) {
		w.At = at
		id := drawTopicID(w.Context, "t")
		require.NotEqual(t, metadata.ID{}, id)
		require.NotEqual(t, byte(62), id[0]>>2)
		require.Equal(t, byte(4), id[6]>>4)
	}
}

func TestTopicsAreDeletedByNameOrID(t *testing.T) {
	w := newWorld(1)
	made := w.create(topic("a"), topic("b"), topic("c"), topic("d"))
	records, answers := DeleteTopics(w.Context, []TopicRef{
		{Name: "a", Named: true}, {ID: made[1].ID}, {Name: "nope", Named: true}, {ID: metadata.ID{9}}, {},
		{Name: "c", Named: true, ID: made[2].ID}, {Name: "d", Named: true}, {Name: "d", Named: true}, {Name: "b", Named: true},
		{Name: "", Named: true}, {Name: "bad/name", Named: true},
	})
	var codes []int16
	for _, a := range answers {
		codes = append(codes, a.Problem.Code)
	}
	require.Equal(t, []int16{env.NoError, env.NoError, env.UnknownTopicOrPartition, env.UnknownTopicID, env.InvalidRequest,
		env.InvalidRequest, env.InvalidRequest, env.InvalidRequest, env.UnknownTopicOrPartition, env.UnknownTopicOrPartition}, codes)
	require.Equal(t, TopicRef{Name: "b", Named: true, ID: made[1].ID}, answers[1].Ref)
	w.apply(records)
	require.Nil(t, w.Image.Topic("a"))
	require.Nil(t, w.Image.Topic("b"))
	require.NotNil(t, w.Image.Topic("c"))
	require.NotNil(t, w.Image.Topic("d"))
}

func TestDeletionCanBeDisabled(t *testing.T) {
	w := newWorld(1)
	w.create(topic("a"))
	w.Layers.Static = []env.Property{{Name: "delete.topic.enable", Value: "false"}}
	records, answers := DeleteTopics(w.Context, []TopicRef{{Name: "a", Named: true}})
	require.Empty(t, records)
	require.Equal(t, env.TopicDeletionDisabled, answers[0].Problem.Code)
}

func TestPartitionsAreOnlyAdded(t *testing.T) {
	w := newWorld(1)
	w.create(topic("t", counts(2, 1)))
	for _, c := range []struct {
		wish MorePartitions
		code int16
	}{
		{MorePartitions{Topic: "t", Count: 2}, env.InvalidPartitions},
		{MorePartitions{Topic: "t", Count: 1}, env.InvalidPartitions},
		{MorePartitions{Topic: "t", Count: -1}, env.InvalidPartitions},
		{MorePartitions{Topic: "nope", Count: 3}, env.UnknownTopicOrPartition},
		{MorePartitions{Topic: "t", Count: 1_000_000_000}, env.PolicyViolation},
		{MorePartitions{Topic: "t", Count: 4, Assigned: true, Assignment: [][]int32{{1}}}, env.InvalidReplicaAssignment},
		{MorePartitions{Topic: "t", Count: 3, Assigned: true, Assignment: [][]int32{{7}}}, env.InvalidReplicaAssignment},
		{MorePartitions{Topic: "t", Count: 3, Assigned: true, Assignment: [][]int32{{1, 1}}}, env.InvalidReplicaAssignment},
		{MorePartitions{Topic: "t", Count: 3, Assigned: true, Assignment: [][]int32{{1}}}, env.NoError},
		{MorePartitions{Topic: "t", Count: 5}, env.NoError},
	} {
		records, answers := CreatePartitions(w.Context, []MorePartitions{c.wish}, false)
		require.Equal(t, c.code, answers[0].Problem.Code, "%+v: %s", c.wish, answers[0].Problem.Message)
		w.apply(records)
	}
	require.Len(t, w.Image.Topic("t").Partitions, 5)
	_, answers := CreatePartitions(w.Context, []MorePartitions{{Topic: "t", Count: 6}, {Topic: "t", Count: 7}}, false)
	require.Len(t, answers, 1)
	require.Equal(t, env.InvalidRequest, answers[0].Problem.Code)
}

func TestProducerIDsAreNeverGivenTwice(t *testing.T) {
	w := newWorld(1, 2)
	end := int64(0)
	for i := range 20 {
		broker := int32(1 + i%2)
		w.apply(AllocateProducerIDs(w.Context, broker, 10))
		require.Equal(t, end+10, w.Image.NextProducer)
		end = w.Image.NextProducer
		w.apply(RegisterBroker(w.Context, Registration{Broker: broker})) // a crash in between changes nothing
	}
}

func TestEachLifeHasALaterBrokerEpoch(t *testing.T) {
	w := newWorld()
	last := int64(-1)
	for range 5 {
		w.apply(RegisterBroker(w.Context, Registration{Broker: 1}))
		b, _ := w.Image.Broker(1)
		require.Greater(t, b.Epoch, last)
		last = b.Epoch
	}
}

const (
	ofTopic  = int8(metadata.TopicResource)
	ofBroker = int8(metadata.BrokerResource)
)

func TestConfigsChangeOrAreRefusedAsKafkaDoes(t *testing.T) {
	for _, c := range []struct {
		kind   int8
		name   string
		change ConfigChange
		code   int16
		after  string // the resource's configs
	}{
		{ofTopic, "t", ConfigChange{Name: "retention.ms", Value: "5"}, env.NoError, "retention.ms=5 segment.ms=9"},
		{ofTopic, "t", ConfigChange{Name: "segment.ms", Op: OpDelete, Null: true}, env.NoError, ""},
		{ofTopic, "t", ConfigChange{Name: "no.such", Op: OpDelete, Null: true}, env.NoError, "segment.ms=9"},
		{ofTopic, "t", ConfigChange{Name: "cleanup.policy", Value: "compact", Op: OpAppend}, env.NoError, "cleanup.policy=delete,compact segment.ms=9"},
		{ofTopic, "t", ConfigChange{Name: "cleanup.policy", Value: "delete", Op: OpAppend}, env.NoError, "cleanup.policy=delete segment.ms=9"},
		{ofTopic, "t", ConfigChange{Name: "cleanup.policy", Value: "delete", Op: OpSubtract}, env.NoError, "cleanup.policy= segment.ms=9"},
		{ofTopic, "t", ConfigChange{Name: "retention.ms", Value: "5", Op: OpAppend}, env.InvalidConfig, "segment.ms=9"},
		{ofTopic, "t", ConfigChange{Name: "retention.ms", Value: "5", Op: 9}, env.InvalidRequest, "segment.ms=9"},
		{ofTopic, "t", ConfigChange{Name: "retention.ms", Null: true}, env.InvalidRequest, "segment.ms=9"},
		{ofTopic, "t", ConfigChange{Name: "foo", Value: "1"}, env.InvalidConfig, "segment.ms=9"},
		{ofTopic, "t", ConfigChange{Name: "min.compaction.lag.ms", Value: maxLong}, env.NoError, "min.compaction.lag.ms=" + maxLong + " segment.ms=9"},
		{ofTopic, "nope", ConfigChange{Name: "retention.ms", Value: "5"}, env.UnknownTopicOrPartition, ""},
		{ofTopic, "", ConfigChange{Name: "retention.ms", Value: "5"}, env.InvalidRequest, ""},
		{ofTopic, "a b", ConfigChange{Name: "retention.ms", Value: "5"}, env.InvalidTopicException, ""},
		{77, "t", ConfigChange{Name: "retention.ms", Value: "5"}, env.InvalidRequest, ""},
		{ofBroker, "1", ConfigChange{Name: "log.retention.ms", Value: "5"}, env.NoError, "log.retention.ms=5"},
		{ofBroker, "", ConfigChange{Name: "log.retention.ms", Value: "5"}, env.NoError, "log.retention.ms=5"},
		{ofBroker, "", ConfigChange{Name: "node.id", Value: "5"}, env.InvalidRequest, ""},
		{ofBroker, "", ConfigChange{Name: "num.io.threads", Value: "5"}, env.InvalidConfig, ""},
		{ofBroker, "", ConfigChange{Name: "no.such", Value: "5"}, env.InvalidConfig, ""},
		{ofBroker, "9", ConfigChange{Name: "log.retention.ms", Value: "5"}, env.InvalidRequest, ""},
		{ofBroker, "01", ConfigChange{Name: "log.retention.ms", Value: "5"}, env.InvalidRequest, ""},
		{ofBroker, "x", ConfigChange{Name: "log.retention.ms", Value: "5"}, env.InvalidRequest, ""},
	} {
		w := newWorld(1)
		w.create(topic("t", with("segment.ms", "9")))
		records, answers := AlterConfigs(w.Context, []Alteration{{Type: c.kind, Name: c.name, Configs: []ConfigChange{c.change}}}, false)
		require.Equal(t, c.code, answers[0].Problem.Code, "%+v: %s", c, answers[0].Problem.Message)
		w.apply(records)
		require.Equal(t, c.after, shown(w.Image.ConfigsOf(metadata.ResourceType(c.kind), c.name)), "%+v", c)
	}
}

const maxLong = "9223372036854775807"

func shown(set []env.Property) string {
	var parts []string
	for _, p := range set {
		parts = append(parts, p.Name+"="+p.Value)
	}
	return strings.Join(parts, " ")
}

func TestAResourceChangesWholeOrNotAtAll(t *testing.T) {
	w := newWorld(1)
	w.create(topic("t"), topic("u"))
	records, answers := AlterConfigs(w.Context, []Alteration{
		{Type: ofTopic, Name: "t", Configs: []ConfigChange{{Name: "segment.ms", Value: "9"}, {Name: "retention.ms", Value: "x"}}},
		{Type: ofTopic, Name: "u", Configs: []ConfigChange{{Name: "segment.ms", Value: "9"}}},
	}, false)
	require.Equal(t, env.InvalidConfig, answers[0].Problem.Code)
	require.Equal(t, env.NoError, answers[1].Problem.Code)
	w.apply(records)
	require.Empty(t, w.Image.TopicConfigs("t"))
	require.Equal(t, "segment.ms=9", shown(w.Image.TopicConfigs("u")))
}

func TestReplacingForgetsWhatIsNotGiven(t *testing.T) {
	w := newWorld(1)
	w.create(topic("t", with("segment.ms", "9"), with("retention.ms", "8")))
	records, _ := AlterConfigs(w.Context, []Alteration{{Type: ofTopic, Name: "t", Replace: true, Configs: []ConfigChange{{Name: "retention.ms", Value: "8"}, {Name: "flush.ms", Value: "1"}}}}, false)
	require.Len(t, records, 2, "what stays as it is needs no record")
	w.apply(records)
	require.Equal(t, "flush.ms=1 retention.ms=8", shown(w.Image.TopicConfigs("t")))
}

func TestARepeatedKeyOrResourceIsRefused(t *testing.T) {
	w := newWorld(1)
	w.create(topic("t"))
	twice := Alteration{Type: ofTopic, Name: "t", Configs: []ConfigChange{{Name: "segment.ms", Value: "9"}}}
	records, answers := AlterConfigs(w.Context, []Alteration{twice, twice}, false)
	require.Empty(t, records)
	require.Len(t, answers, 2)
	require.Equal(t, env.InvalidRequest, answers[0].Problem.Code)
	require.Equal(t, env.InvalidRequest, answers[1].Problem.Code)
	twice.Configs = append(twice.Configs, twice.Configs[0])
	_, answers = AlterConfigs(w.Context, []Alteration{twice}, false)
	require.Equal(t, env.InvalidRequest, answers[0].Problem.Code)
}

// Whatever is decided fits the image that it was decided on, every value in the
// image can be used, and the image's own records build it again.
func TestDecisionsAlwaysFitTheImage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(1, 2, 3)
		names := rapid.SampledFrom([]string{"a", "b", "a.b", "a_b", "bad/", ""})
		for range rapid.IntRange(1, 25).Draw(t, "decisions") {
			w.apply(drawDecision(t, w, names))
			w.check(t)
		}
		other := metadata.NewImage()
		for _, r := range w.Image.Records() {
			other.Apply(r)
		}
		require.Equal(t, w.Image.Digest(), other.Digest())
	})
}

func drawDecision(t *rapid.T, w *world, names *rapid.Generator[string]) []metadata.Record {
	configs := rapid.SampledFrom([]string{"retention.ms", "cleanup.policy", "max.compaction.lag.ms", "log.retention.ms", "durability", "x"})
	values := rapid.SampledFrom([]string{"1", "delete", "compact", "-1", "written", "delete,compact", ""})
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		var topics []NewTopic
		for range rapid.IntRange(1, 3).Draw(t, "topics") {
			n := topic(names.Draw(t, "name"), counts(rapid.Int32Range(-1, 4).Draw(t, "partitions"), rapid.Int16Range(-1, 4).Draw(t, "factor")))
			if rapid.Bool().Draw(t, "configured") {
				with(configs.Draw(t, "config"), values.Draw(t, "value"))(&n)
			}
			topics = append(topics, n)
		}
		records, _ := CreateTopics(w.Context, topics, false)
		return records
	case 1:
		records, _ := DeleteTopics(w.Context, []TopicRef{{Name: names.Draw(t, "name"), Named: true}, {Name: names.Draw(t, "name"), Named: true}})
		return records
	case 2:
		records, _ := CreatePartitions(w.Context, []MorePartitions{{Topic: names.Draw(t, "name"), Count: rapid.Int32Range(0, 9).Draw(t, "count")}}, false)
		return records
	case 3:
		return []metadata.Record{metadata.RegisterBroker{Broker: rapid.Int32Range(1, 3).Draw(t, "broker"), Fenced: rapid.Bool().Draw(t, "fenced")}}
	default:
		a := Alteration{Type: rapid.SampledFrom([]int8{ofTopic, ofBroker}).Draw(t, "type"), Replace: rapid.Bool().Draw(t, "replace")}
		if a.Name = names.Draw(t, "name"); a.Type == ofBroker {
			a.Name = rapid.SampledFrom([]string{"", "1", "7"}).Draw(t, "broker")
		}
		a.Configs = []ConfigChange{{Name: configs.Draw(t, "config"), Value: values.Draw(t, "value"), Op: Op(rapid.Int8Range(0, 4).Draw(t, "op"))}}
		records, _ := AlterConfigs(w.Context, []Alteration{a}, false)
		return records
	}
}

// check is what must hold for every image that decisions have made.
func (w *world) check(t require.TestingT) {
	w.Layers.Cluster = w.Image.ConfigsOf(metadata.BrokerResource, "")
	w.Layers.Node = w.Image.ConfigsOf(metadata.BrokerResource, "1")
	flat := map[string]string{}
	for _, topic := range w.Image.Topics {
		require.True(t, LegalName(topic.Name).None())
		require.Empty(t, flat[flattened(topic.Name)])
		flat[flattened(topic.Name)] = topic.Name
		require.NotEmpty(t, topic.Partitions)
		for n := range topic.Partitions {
			p := &topic.Partitions[n]
			require.NotEmpty(t, p.Replicas, fmt.Sprint(topic.Name, n))
			for _, id := range p.ISR {
				require.True(t, slices.Contains(p.Replicas, id))
			}
		}
		set := w.Image.TopicConfigs(topic.Name)
		w.Layers.TopicConfigOf(set) // panics over a value that was not checked
		for _, c := range set {
			normal, bad := config.Check(config.Topic, c.Name, c.Value)
			require.Empty(t, bad)
			require.Equal(t, c.Value, normal)
		}
	}
}
