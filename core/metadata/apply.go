package metadata

import (
	"fmt"
	"slices"
	"sort"
	"strconv"

	"github.com/orrery-log/orrery/core/env"
)

// Apply makes the image what it is after one more record. The log is written by
// core/controller alone, so a record that does not fit the image is a fault of
// ours and panics; bytes that are damaged do not come so far.
func (m *Image) Apply(r Record) {
	switch r := r.(type) {
	case RegisterBroker:
		m.registerBroker(r)
	case UnregisterBroker:
		m.unregisterBroker(r)
	case AddTopic:
		m.addTopic(r)
	case AddPartition:
		m.addPartition(r)
	case SetConfig:
		m.setConfig(r)
	case ChangePartition:
		m.changePartition(r)
	case RemoveTopic:
		m.removeTopic(r)
	case SetFeature:
		m.setFeature(r)
	case ProducerIDs:
		m.NextProducer = max(m.NextProducer, r.Next)
	case NoOp:
	default:
		panic(fmt.Sprintf("metadata: unknown record %T", r))
	}
}

// registerBroker begins a new life of the broker, and with it a new leader epoch
// of every partition that it leads. See the package's "A start is a new life".
func (m *Image) registerBroker(r RegisterBroker) {
	b := Broker{ID: r.Broker, Incarnation: r.Incarnation, Epoch: r.Epoch, Endpoints: slices.Clone(r.Endpoints), Rack: r.Rack, Fenced: r.Fenced}
	if old, ok := m.Broker(r.Broker); ok {
		*old = b
	} else {
		i := sort.Search(len(m.Brokers), func(i int) bool { return m.Brokers[i].ID > r.Broker })
		m.Brokers = slices.Insert(m.Brokers, i, b)
	}
	for _, t := range m.Topics {
		for i := range t.Partitions {
			if p := &t.Partitions[i]; p.Leads(r.Broker) {
				p.LeaderEpoch++
				p.PartitionEpoch++
			}
		}
	}
}

func (m *Image) unregisterBroker(r UnregisterBroker) {
	m.Brokers = slices.DeleteFunc(m.Brokers, func(b Broker) bool { return b.ID == r.Broker })
	delete(m.Configs, Resource{BrokerResource, strconv.Itoa(int(r.Broker))})
}

func (m *Image) addTopic(r AddTopic) {
	i, found := m.place(r.Name)
	if _, known := m.IDs[r.ID]; found || known {
		panic(fmt.Sprintf("metadata: topic %s %s is there already", r.Name, r.ID))
	}
	t := &Topic{Name: r.Name, ID: r.ID}
	m.Topics = slices.Insert(m.Topics, i, t)
	m.IDs[r.ID] = r.Name
}

func (m *Image) addPartition(r AddPartition) {
	t := m.mustTopic(r.Topic)
	switch n := int32(len(t.Partitions)); {
	case r.Partition == n:
		t.Partitions = append(t.Partitions, clonePartition(r.PartitionState))
	case r.Partition >= 0 && r.Partition < n:
		t.Partitions[r.Partition] = clonePartition(r.PartitionState)
	default:
		panic(fmt.Sprintf("metadata: partition %s-%d, where %d is next", t.Name, r.Partition, n))
	}
	t.Partitions[r.Partition].invariant(t, int(r.Partition))
}

func clonePartition(p PartitionState) PartitionState {
	p.Replicas, p.ISR = slices.Clone(p.Replicas), slices.Clone(p.ISR)
	return p
}

func (m *Image) changePartition(r ChangePartition) {
	t := m.mustTopic(r.Topic)
	p, ok := t.Partition(r.Partition)
	if !ok {
		panic(fmt.Sprintf("metadata: a change of %s-%d, which has %d partitions", t.Name, r.Partition, len(t.Partitions)))
	}
	if r.ISR != nil {
		p.ISR = slices.Clone(r.ISR)
	}
	if r.Replicas != nil {
		p.Replicas = slices.Clone(r.Replicas)
	}
	if r.Leader != LeaderAsIs {
		p.Leader = r.Leader
		p.LeaderEpoch++
	}
	p.PartitionEpoch++
	p.invariant(t, int(r.Partition))
}

func (m *Image) removeTopic(r RemoveTopic) {
	t := m.mustTopic(r.ID)
	i, ok := m.place(t.Name)
	if !ok || m.Topics[i] != t {
		panic(fmt.Sprintf("metadata: topic %s %s has an id and no name", t.Name, t.ID))
	}
	m.Topics = slices.Delete(m.Topics, i, i+1)
	delete(m.IDs, r.ID)
	delete(m.Configs, Resource{TopicResource, t.Name})
}

func (m *Image) setConfig(r SetConfig) {
	set := m.Configs[r.Resource]
	i := sort.Search(len(set), func(i int) bool { return set[i].Name >= r.Name })
	found := i < len(set) && set[i].Name == r.Name
	set = slices.Clone(set) // what was read stays as it was
	switch {
	case r.Remove && found:
		set = slices.Delete(set, i, i+1)
	case !r.Remove && found:
		set[i].Value = r.Value
	case !r.Remove:
		set = slices.Insert(set, i, env.Property{Name: r.Name, Value: r.Value})
	}
	if len(set) == 0 {
		delete(m.Configs, r.Resource)
	} else {
		m.Configs[r.Resource] = set
	}
}

func (m *Image) setFeature(r SetFeature) {
	m.Features = slices.DeleteFunc(slices.Clone(m.Features), func(f Feature) bool { return f.Name == r.Name })
	if r.Level > 0 {
		i := sort.Search(len(m.Features), func(i int) bool { return m.Features[i].Name > r.Name })
		m.Features = slices.Insert(m.Features, i, Feature(r))
	}
}

func (m *Image) mustTopic(id ID) *Topic {
	t := m.TopicByID(id)
	if t == nil {
		panic(fmt.Sprintf("metadata: no topic %s", id))
	}
	return t
}
