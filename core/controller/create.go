package controller

import (
	"cmp"
	"slices"

	"github.com/orrery-log/orrery/core/config"
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/metadata"
)

// NewTopic is a topic that somebody wants.
type NewTopic struct {
	Name        string
	Partitions  int32 // -1: the default, or as many as Assignment has
	Replication int16 // -1: the default, or as Assignment says
	Assignment  []Assignment
	Configs     []NewConfig
}

// NewConfig is one config of a new topic. A null value is refused.
type NewConfig struct {
	Name, Value string
	Null        bool
}

// CreatedTopic answers a NewTopic. With a Problem the rest means nothing.
type CreatedTopic struct {
	Name        string
	Problem     Problem
	ID          metadata.ID
	Partitions  int32
	Replication int16
	Configs     []env.Property // its overrides, by name
}

// CreateTopics decides which of the topics come into being. Topics that are
// refused do not stop the others; a name that stands twice is answered once.
func CreateTopics(c Context, topics []NewTopic, validateOnly bool) ([]metadata.Record, []CreatedTopic) {
	var records []metadata.Record
	var answers []CreatedTopic
	tooMany := excessive(c, topics)
	var taken takenNames
	times := make(map[string]int)
	for i := range topics {
		times[topics[i].Name]++
	}
	for i := range topics {
		t := &topics[i]
		n := times[t.Name]
		times[t.Name] = 0
		a := CreatedTopic{Name: t.Name, Problem: tooMany}
		switch {
		case n == 0:
			continue // answered already
		case n > 1:
			a.Problem = problem(env.InvalidRequest, "Duplicate topic name.")
		case tooMany.None():
			a.Problem = freeName(c.Image, &taken, t.Name)
		}
		if a.Problem.None() {
			var made []metadata.Record
			if made, a = create(c, t); a.Problem.None() {
				taken.take(c.Image, t.Name)
				records = append(records, made...)
			}
		}
		answers = append(answers, a)
	}
	if validateOnly {
		records = nil
	}
	return records, answers
}

// excessive refuses a request that would create more partitions than one may.
func excessive(c Context, topics []NewTopic) Problem {
	total, byDefault := int64(0), c.Layers.Long("num.partitions")
	for i := range topics {
		switch t := &topics[i]; {
		case len(t.Assignment) > 0:
			total += int64(len(t.Assignment))
		case t.Partitions == -1:
			total += byDefault
		default:
			total += max(1, int64(t.Partitions)) // a wrong number costs its answer, too
		}
	}
	if total > partitionsMax {
		return problem(env.PolicyViolation, "Excessively large number of partitions per request: %d, and at most %d are allowed.", total, partitionsMax)
	}
	return Problem{}
}

// freeName: the name is legal, nobody has it, and it collides with none, be it in
// the image or among the topics created by the same request.
func freeName(m *metadata.Image, taken *takenNames, name string) Problem {
	if p := LegalName(name); !p.None() {
		return p
	}
	if name == metadata.MetadataName {
		return problem(env.InvalidRequest, "Creation of internal topic %s is prohibited.", name)
	}
	if m.Topic(name) != nil {
		return problem(env.TopicAlreadyExists, "Topic '%s' already exists.", name)
	}
	if other := taken.collision(m, name); other != "" {
		return problem(env.InvalidTopicException, "Topic '%s' collides with existing topic: %s", name, other)
	}
	return Problem{}
}

// create decides one topic whose name is free.
func create(c Context, t *NewTopic) ([]metadata.Record, CreatedTopic) {
	a := CreatedTopic{Name: t.Name}
	var replicas [][]int32
	if len(t.Assignment) > 0 {
		replicas, a.Problem = assigned(c.Image, t)
	} else {
		replicas, a.Problem = counted(c, t)
	}
	if a.Problem.None() {
		a.Configs, a.Problem = newConfigs(c, t.Configs)
	}
	if !a.Problem.None() {
		return nil, a
	}
	a.ID = drawTopicID(c, t.Name)
	a.Partitions, a.Replication = int32(len(replicas)), int16(len(replicas[0]))
	records := []metadata.Record{metadata.AddTopic{Name: t.Name, ID: a.ID}}
	for _, p := range a.Configs {
		records = append(records, metadata.SetConfig{Resource: metadata.Resource{Type: metadata.TopicResource, Name: t.Name}, Name: p.Name, Value: p.Value})
	}
	for n, r := range replicas {
		records = append(records, metadata.AddPartition{Topic: a.ID, Partition: int32(n), PartitionState: newPartition(c.Image, r)})
	}
	return records, a
}

// counted places a topic that is given by numbers, or by their defaults.
func counted(c Context, t *NewTopic) ([][]int32, Problem) {
	partitions, factor := t.Partitions, t.Replication
	if partitions == -1 {
		partitions = int32(c.Layers.Long("num.partitions"))
	}
	if factor == -1 {
		factor = int16(min(c.Layers.Long("default.replication.factor"), 1<<15-1))
	}
	if factor <= 0 {
		return nil, problem(env.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	}
	if partitions <= 0 {
		return nil, problem(env.InvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	}
	return place(c, t.Name, 0, partitions, factor)
}

// assigned checks a topic that is given replica by replica: partitions 0, 1, 2, …
// with as many replicas each.
func assigned(m *metadata.Image, t *NewTopic) ([][]int32, Problem) {
	if t.Replication != -1 {
		return nil, problem(env.InvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1.")
	}
	if t.Partitions != -1 {
		return nil, problem(env.InvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1.")
	}
	list := slices.Clone(t.Assignment)
	slices.SortStableFunc(list, func(a, b Assignment) int { return cmp.Compare(a.Partition, b.Partition) })
	replicas := make([][]int32, 0, len(list))
	for n, a := range list {
		switch {
		case n > 0 && a.Partition == list[n-1].Partition:
			return nil, problem(env.InvalidReplicaAssignment, "Found multiple manual partition assignments for partition %d", a.Partition)
		case a.Partition != int32(n):
			return nil, problem(env.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
		}
		if p := soundReplicas(m, a.Replicas); !p.None() {
			return nil, p
		}
		if len(a.Replicas) != len(list[0].Replicas) {
			return nil, problem(env.InvalidReplicaAssignment,
				"The manual partition assignment includes a partition with %d replica(s), but this is not consistent with previous partitions, which have %d replica(s).",
				len(a.Replicas), len(list[0].Replicas))
		}
		replicas = append(replicas, a.Replicas)
	}
	return replicas, Problem{}
}

// newConfigs checks the overrides of a new topic; of a name that stands twice the
// last counts.
func newConfigs(c Context, configs []NewConfig) ([]env.Property, Problem) {
	var set []env.Property
	for _, n := range configs {
		if n.Null {
			return nil, problem(env.InvalidConfig, "Null value not supported for topic configs: %s", n.Name)
		}
		value, bad := config.Check(config.Topic, n.Name, n.Value)
		if bad != "" {
			return nil, Problem{env.InvalidConfig, bad}
		}
		set = withProperty(set, n.Name, value)
	}
	return set, agreeing(c, set)
}

// agreeing: a topic's overrides do not contradict each other or the broker's settings.
func agreeing(c Context, set []env.Property) Problem {
	least, most := topicLong(c, set, "min.compaction.lag.ms"), topicLong(c, set, "max.compaction.lag.ms")
	if least > most {
		return problem(env.InvalidConfig, "conflict topic config setting min.compaction.lag.ms (%d) > max.compaction.lag.ms (%d)", least, most)
	}
	return Problem{}
}
