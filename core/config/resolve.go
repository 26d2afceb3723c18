package config

import (
	"fmt"

	"github.com/orrery-log/orrery/core/env"
)

// Layers are the places where a broker setting can be set, the strongest first.
// Each holds at most one property of a name.
type Layers struct {
	Node    []env.Property // at run time, for this broker
	Cluster []env.Property // at run time, for all brokers
	Static  []env.Property // file, environment, command line
}

// Source is where a value comes from; the numbers are DescribeConfigs'.
type Source int8

// Kafka's config sources.
const (
	FromTopic   Source = 1
	FromNode    Source = 2
	FromCluster Source = 3
	FromStatic  Source = 4
	FromDefault Source = 5
)

// Value is one place that speaks of a setting.
type Value struct {
	Name, Value string
	Source      Source
}

// Resolved is a setting's value with all places that speak of it, the strongest first.
type Resolved struct {
	Value    string
	Null     bool // it has no value
	Source   Source
	Synonyms []Value
}

// Topic resolves a topic setting from the topic's overrides and the broker's layers.
func (l Layers) Topic(overrides []env.Property, s *Setting) Resolved {
	r := Resolved{Value: s.Default, Source: FromDefault}
	if v, ok := Find(overrides, s.Name); ok {
		r.Synonyms = append(r.Synonyms, Value{s.Name, v, FromTopic})
		r.Value, r.Source = v, FromTopic
	}
	broker, first := l.chain(s.Synonyms)
	if first.Source != FromDefault && r.Source == FromDefault {
		r.Value, r.Source = first.Value, first.Source
	}
	r.Synonyms = append(r.Synonyms, broker...)
	return r
}

// Broker resolves a broker setting as DescribeConfigs shows it: by its own name.
// Its synonyms are listed, they do not give it a value.
func (l Layers) Broker(s *Setting) Resolved {
	r := Resolved{Value: s.Default, Null: s.Null, Source: FromDefault}
	if own := l.set(s.Name); len(own) > 0 {
		r.Value, r.Null, r.Source = own[0].Value, false, own[0].Source
	}
	r.Synonyms, _ = l.chain(append([]Synonym{{Name: s.Name}}, s.Synonyms...))
	return r
}

// Effective is what counts for a broker setting: its own value, else that of its
// synonyms, else its default. A null setting gives "" and false.
func (l Layers) Effective(name string) (string, bool) {
	s := mustLookup(Broker, name)
	for _, names := range [...][]Synonym{{{Name: name}}, s.Synonyms} {
		if first := l.firstSet(names); first.Source != FromDefault {
			return first.Value, true
		}
	}
	if !s.Null {
		return s.Default, true
	}
	for _, syn := range s.Synonyms {
		if t := mustLookup(Broker, syn.Name); !t.Null {
			return scale(t.Default, syn.Scale), true
		}
	}
	return "", false
}

// chain lists the places that speak of the names, in order. First is the first of
// them that somebody set, in the unit of the first name; its source is FromDefault
// when nobody set any.
//
// As in Kafka, a default is listed when its name stands first or when some name of
// the chain is set: without any setting log.retention.ms says nothing, not that
// log.retention.hours is 168.
func (l Layers) chain(names []Synonym) (places []Value, first Value) {
	first = l.firstSet(names)
	any := false
	for i, n := range names {
		own := l.set(n.Name)
		any = any || len(own) > 0
		places = append(places, own...)
		if s := mustLookup(Broker, n.Name); !s.Null && (i == 0 || any) {
			places = append(places, Value{n.Name, s.Default, FromDefault})
		}
	}
	return places, first
}

// firstSet is the strongest place where the first of the names that is set at all
// is set, in the unit of the first name; its source is FromDefault when none is.
func (l Layers) firstSet(names []Synonym) Value {
	for _, n := range names {
		for _, layer := range [...]struct {
			set    []env.Property
			source Source
		}{{l.Node, FromNode}, {l.Cluster, FromCluster}, {l.Static, FromStatic}} {
			if v, ok := Find(layer.set, n.Name); ok {
				return Value{n.Name, scale(v, n.Scale), layer.source}
			}
		}
	}
	return Value{Source: FromDefault}
}

// topicValue is the value that Topic resolves, without the places.
func (l Layers) topicValue(overrides []env.Property, s *Setting) string {
	if v, ok := Find(overrides, s.Name); ok {
		return v
	}
	if first := l.firstSet(s.Synonyms); first.Source != FromDefault {
		return first.Value
	}
	return s.Default
}

// set lists the places where the name itself is set.
func (l Layers) set(name string) []Value {
	var places []Value
	if v, ok := Find(l.Node, name); ok {
		places = append(places, Value{name, v, FromNode})
	}
	if v, ok := Find(l.Cluster, name); ok {
		places = append(places, Value{name, v, FromCluster})
	}
	if v, ok := Find(l.Static, name); ok {
		places = append(places, Value{name, v, FromStatic})
	}
	return places
}

// Find looks a name up in properties.
func Find(properties []env.Property, name string) (string, bool) {
	for i := range properties {
		if properties[i].Name == name && !properties[i].Default {
			return properties[i].Value, true
		}
	}
	return "", false
}

// scale turns a value into another unit. -1 stands for "no limit" in any unit.
func scale(value string, by int64) string {
	if by == 0 {
		return value
	}
	n := mustLong(value)
	switch {
	case n < 0:
		return value
	case n > maxLong/by:
		return maxLongText
	default:
		return formatLong(n * by)
	}
}

func mustLookup(scope Scope, name string) *Setting {
	s, ok := Lookup(scope, name)
	if !ok {
		panic(fmt.Sprintf("config: no %s setting %q", scope, name))
	}
	return s
}

func mustLong(value string) int64 {
	n, ok := parseLong(value)
	if !ok {
		panic(fmt.Sprintf("config: %q was not checked: it is no number", value))
	}
	return n
}
