package controller

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/orrery-log/orrery/core/config"
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/metadata"
)

// Op is what an incremental alteration does with a config; the numbers are Kafka's.
type Op int8

// Kafka's operations. Append and Subtract are for lists.
const (
	OpSet      Op = 0
	OpDelete   Op = 1
	OpAppend   Op = 2
	OpSubtract Op = 3
)

// Alteration changes the configs of one resource.
type Alteration struct {
	Type    int8
	Name    string
	Configs []ConfigChange
	Replace bool // configs that are not given go back to their defaults (AlterConfigs)
}

func (a *Alteration) resource() metadata.Resource {
	return metadata.Resource{Type: metadata.ResourceType(a.Type), Name: a.Name}
}

// ConfigChange is one change.
type ConfigChange struct {
	Name, Value string
	Null        bool
	Op          Op
}

// Altered answers an Alteration.
type Altered struct {
	Type    int8
	Name    string
	Problem Problem
}

// AlterConfigs decides which resources change. A resource changes whole or not at
// all; one that stands twice is refused each time.
func AlterConfigs(c Context, alterations []Alteration, validateOnly bool) ([]metadata.Record, []Altered) {
	var records []metadata.Record
	var answers []Altered
	times := make(map[metadata.Resource]int)
	for _, a := range alterations {
		times[a.resource()]++
	}
	for _, a := range alterations {
		var made []metadata.Record
		p := problem(env.InvalidRequest, "Each resource must appear at most once.")
		if times[a.resource()] == 1 {
			made, p = alter(c, a)
		}
		records = append(records, made...)
		answers = append(answers, Altered{a.Type, a.Name, p})
	}
	if validateOnly {
		records = nil
	}
	return records, answers
}

func alter(c Context, a Alteration) ([]metadata.Record, Problem) {
	scope, p := alterable(c.Image, a)
	if !p.None() {
		return nil, p
	}
	r := a.resource()
	before := c.Image.Configs[r]
	after, p := altered(c, scope, a, before)
	if p.None() && scope == config.Topic {
		p = agreeing(c, after)
	}
	if !p.None() {
		return nil, p
	}
	return differences(r, before, after), Problem{}
}

// alterable: the resource is one that has configs here, and it exists.
func alterable(m *metadata.Image, a Alteration) (config.Scope, Problem) {
	switch metadata.ResourceType(a.Type) {
	case metadata.TopicResource:
		switch {
		case a.Name == "":
			return 0, problem(env.InvalidRequest, "Default topic resources are not allowed.")
		case !LegalName(a.Name).None():
			return 0, LegalName(a.Name)
		case m.Topic(a.Name) == nil:
			return 0, problem(env.UnknownTopicOrPartition, "The topic '%s' does not exist.", a.Name)
		}
		return config.Topic, Problem{}
	case metadata.BrokerResource:
		return config.Broker, KnownBroker(m, a.Name)
	default:
		return 0, problem(env.InvalidRequest, "Configs of resource type %d can not be altered in this release.", a.Type)
	}
}

// KnownBroker: a broker resource is "", for all brokers, or the id of a registered one.
func KnownBroker(m *metadata.Image, name string) Problem {
	if name == "" {
		return Problem{}
	}
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return problem(env.InvalidRequest, "Node id must be an integer, but it is: %s", name)
	}
	if _, ok := m.Broker(int32(id)); !ok || strconv.FormatInt(id, 10) != name {
		return problem(env.InvalidRequest, "No broker with id %s is registered.", name)
	}
	return Problem{}
}

// altered are the resource's configs after the alteration.
func altered(c Context, scope config.Scope, a Alteration, before []env.Property) ([]env.Property, Problem) {
	after := slices.Clone(before)
	if a.Replace {
		after = nil
	}
	seen := make(map[string]bool)
	for _, change := range a.Configs {
		if seen[change.Name] {
			return nil, problem(env.InvalidRequest, "Error due to duplicate config keys: %s", change.Name)
		}
		seen[change.Name] = true
		var p Problem
		if after, p = changed(c, scope, after, change); !p.None() {
			return nil, p
		}
	}
	return after, Problem{}
}

// changed applies one change.
func changed(c Context, scope config.Scope, set []env.Property, change ConfigChange) ([]env.Property, Problem) {
	switch {
	case change.Op == OpDelete:
		return withoutProperty(set, change.Name), Problem{} // of any name: an old release may have set it
	case change.Op < OpSet || change.Op > OpSubtract:
		return nil, problem(env.InvalidRequest, "Unknown operation %d for config %s.", change.Op, change.Name)
	case change.Null:
		return nil, problem(env.InvalidRequest, "Null value not supported for : %s", change.Name)
	}
	s, p := settable(scope, change.Name)
	if !p.None() {
		return nil, p
	}
	value := change.Value
	if change.Op != OpSet {
		if s.Type != config.List {
			return nil, problem(env.InvalidConfig, "Can't %s to key %s because its type is not LIST.", opName(change.Op), change.Name)
		}
		if len(value) > config.ValueMax {
			return nil, problem(env.InvalidConfig, "The value for %s is longer than %d bytes.", change.Name, config.ValueMax)
		}
		value = combined(current(c, scope, set, s), value, change.Op)
	}
	normal, bad := s.Check(value)
	if bad != "" {
		return nil, Problem{env.InvalidConfig, bad}
	}
	return withProperty(set, change.Name, normal), Problem{}
}

// settable: the name is a setting of the scope that can change while brokers live.
func settable(scope config.Scope, name string) (*config.Setting, Problem) {
	s, ok := config.Lookup(scope, name)
	switch {
	case !ok && scope == config.Broker && config.Ignored(name):
		return nil, problem(env.InvalidConfig, "%s has no meaning in this broker and can not be set.", name)
	case !ok:
		return nil, Problem{env.InvalidConfig, config.Unknown(scope, name)}
	case scope == config.Broker && s.Update == config.ReadOnly:
		return nil, problem(env.InvalidRequest, "Cannot update these configs dynamically: [%s]", name)
	}
	return s, Problem{}
}

func opName(op Op) string {
	if op == OpAppend {
		return "APPEND"
	}
	return "SUBTRACT"
}

// current is the list that an append or subtract starts from: what holds now.
func current(c Context, scope config.Scope, set []env.Property, s *config.Setting) string {
	if v, ok := config.Find(set, s.Name); ok {
		return v
	}
	if scope == config.Topic {
		return c.Layers.Topic(nil, s).Value
	}
	return c.Layers.Broker(s).Value
}

// combined appends what is not there yet, or takes away what is.
func combined(list, change string, op Op) string {
	elements, changes := config.SplitList(list), config.SplitList(strings.TrimSpace(change))
	if op == OpSubtract {
		gone := setOf(changes)
		elements = slices.DeleteFunc(elements, func(e string) bool { return gone[e] })
		return strings.Join(elements, ",")
	}
	there := setOf(elements)
	for _, e := range changes {
		if !there[e] {
			there[e] = true
			elements = append(elements, e)
		}
	}
	return strings.Join(elements, ",")
}

func setOf(words []string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}

// differences are the records that turn one set of configs into another, by name.
func differences(r metadata.Resource, before, after []env.Property) []metadata.Record {
	var records []metadata.Record
	for _, p := range before {
		if _, ok := config.Find(after, p.Name); !ok {
			records = append(records, metadata.SetConfig{Resource: r, Name: p.Name, Remove: true})
		}
	}
	for _, p := range after {
		if old, ok := config.Find(before, p.Name); !ok || old != p.Value {
			records = append(records, metadata.SetConfig{Resource: r, Name: p.Name, Value: p.Value})
		}
	}
	return records
}

// withProperty sets one property in a list sorted by name; the list may be reused.
func withProperty(set []env.Property, name, value string) []env.Property {
	i := sort.Search(len(set), func(i int) bool { return set[i].Name >= name })
	if i < len(set) && set[i].Name == name {
		set[i].Value = value
		return set
	}
	return slices.Insert(set, i, env.Property{Name: name, Value: value})
}

func withoutProperty(set []env.Property, name string) []env.Property {
	return slices.DeleteFunc(set, func(p env.Property) bool { return p.Name == name })
}

// topicLong is a number among a topic's settings as they would resolve.
func topicLong(c Context, set []env.Property, name string) int64 {
	s, ok := config.Lookup(config.Topic, name)
	if !ok {
		panic("controller: no topic setting " + name)
	}
	n, err := strconv.ParseInt(c.Layers.Topic(set, s).Value, 10, 64)
	if err != nil {
		panic("controller: " + name + " is no number: " + err.Error())
	}
	return n
}
