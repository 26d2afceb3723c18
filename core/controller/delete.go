package controller

import (
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/metadata"
)

// TopicRef names a topic by its name or by its id. One of the two must be given.
type TopicRef struct {
	Name  string
	Named bool // Name is given
	ID    metadata.ID
}

func (r TopicRef) byID() bool { return r.ID != metadata.ID{} }

// DeletedTopic answers a TopicRef.
type DeletedTopic struct {
	Ref     TopicRef // as it was asked; with the name and the id, when it was deleted
	Problem Problem
}

// DeleteTopics decides which of the topics end. What stands twice is answered
// once, and refused: the caller may have meant another.
func DeleteTopics(c Context, refs []TopicRef) ([]metadata.Record, []DeletedTopic) {
	var records []metadata.Record
	var answers []DeletedTopic
	enabled := c.Layers.Bool("delete.topic.enable")
	asked := make(map[TopicRef]int)
	for _, r := range refs {
		asked[r]++
	}
	gone := make(map[metadata.ID]bool)
	for _, r := range refs {
		n := asked[r]
		if n == 0 {
			continue // answered already
		}
		t, p := findTopic(c.Image, r)
		switch {
		case !enabled:
			p = problem(env.TopicDeletionDisabled, "Topic deletion is disabled: delete.topic.enable is false.")
		case p.None() && gone[t.ID]:
			p = problem(env.InvalidRequest, "The topic is named twice, by its name and by its id.")
		case n > 1 && malformed(r).None():
			p = problem(env.InvalidRequest, "The topic is named %d times.", n)
			asked[r] = 0
		}
		answer := DeletedTopic{Ref: r, Problem: p}
		if p.None() {
			gone[t.ID] = true
			records = append(records, metadata.RemoveTopic{ID: t.ID})
			answer.Ref = TopicRef{Name: t.Name, Named: true, ID: t.ID}
		}
		answers = append(answers, answer)
	}
	return records, answers
}

// malformed: exactly one of name and id is given.
func malformed(r TopicRef) Problem {
	switch {
	case r.Named && r.byID():
		return problem(env.InvalidRequest, "You may not specify both topic name and topic id.")
	case !r.Named && !r.byID():
		return problem(env.InvalidRequest, "Neither topic name nor id were specified.")
	}
	return Problem{}
}

func findTopic(m *metadata.Image, r TopicRef) (*metadata.Topic, Problem) {
	if p := malformed(r); !p.None() {
		return nil, p
	}
	if r.byID() {
		if t := m.TopicByID(r.ID); t != nil {
			return t, Problem{}
		}
		return nil, problem(env.UnknownTopicID, "This server does not host this topic ID.")
	}
	if t := m.Topic(r.Name); t != nil {
		return t, Problem{}
	}
	return nil, problem(env.UnknownTopicOrPartition, "This server does not host this topic-partition.")
}
