package controller

import (
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/metadata"
)

// MorePartitions wants a topic to have Count partitions.
type MorePartitions struct {
	Topic      string
	Count      int32
	Assignment [][]int32 // the replicas of each new partition; nil: they are placed
	Assigned   bool      // Assignment is given
}

// GrownTopic answers a MorePartitions.
type GrownTopic struct {
	Topic   string
	Problem Problem
}

// CreatePartitions decides which topics grow. A topic never shrinks: keys would
// no longer find their partition.
func CreatePartitions(c Context, wishes []MorePartitions, validateOnly bool) ([]metadata.Record, []GrownTopic) {
	var records []metadata.Record
	var answers []GrownTopic
	times := make(map[string]int)
	for _, w := range wishes {
		times[w.Topic]++
	}
	left := int32(partitionsMax)
	for _, w := range wishes {
		n := times[w.Topic]
		times[w.Topic] = 0
		var made []metadata.Record
		var p Problem
		switch {
		case n == 0:
			continue // answered already
		case n > 1:
			p = problem(env.InvalidRequest, "Duplicate topic name.")
		default:
			made, p = grow(c, w, left)
		}
		left -= int32(len(made))
		records = append(records, made...)
		answers = append(answers, GrownTopic{w.Topic, p})
	}
	if validateOnly {
		records = nil
	}
	return records, answers
}

// grow decides one topic; left is how many partitions the request may still create.
func grow(c Context, w MorePartitions, left int32) ([]metadata.Record, Problem) {
	t := c.Image.Topic(w.Topic)
	if t == nil {
		return nil, problem(env.UnknownTopicOrPartition, "This server does not host this topic-partition.")
	}
	have := int32(len(t.Partitions))
	if w.Count <= have {
		return nil, problem(env.InvalidPartitions, "The topic %s currently has %d partition(s); %d would not be an increase.", t.Name, have, w.Count)
	}
	more := w.Count - have
	if more > left {
		return nil, problem(env.PolicyViolation, "Excessively large number of partitions per request: at most %d are allowed.", partitionsMax)
	}
	replicas, p := added(c, t, w, more)
	if !p.None() {
		return nil, p
	}
	var records []metadata.Record
	for i, r := range replicas {
		records = append(records, metadata.AddPartition{Topic: t.ID, Partition: have + int32(i), PartitionState: newPartition(c.Image, r)})
	}
	return records, Problem{}
}

// added are the replicas of the partitions that come, as many each as the topic has.
func added(c Context, t *metadata.Topic, w MorePartitions, more int32) ([][]int32, Problem) {
	factor := len(t.Partitions[0].Replicas)
	if !w.Assigned {
		return place(c, t.Name, int32(len(t.Partitions)), more, int16(factor))
	}
	if len(w.Assignment) != int(more) {
		return nil, problem(env.InvalidReplicaAssignment, "Attempted to add %d additional partition(s), but only %d assignment(s) were specified.", more, len(w.Assignment))
	}
	for _, replicas := range w.Assignment {
		if p := soundReplicas(c.Image, replicas); !p.None() {
			return nil, p
		}
		if len(replicas) != factor {
			return nil, problem(env.InvalidReplicaAssignment,
				"The manual partition assignment includes a partition with %d replica(s), but the topic has %d replica(s).", len(replicas), factor)
		}
	}
	return w.Assignment, Problem{}
}
