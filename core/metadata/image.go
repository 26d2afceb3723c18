package metadata

import (
	"fmt"
	"slices"
	"sort"

	"github.com/orrery-log/orrery/core/env"
)

// Image is what holds after the records so far. It is plain data. Readers must
// not write to what it hands out; the lists of a partition are replaced, never
// written in place, so what was read stays as it was.
type Image struct {
	Brokers []Broker // by id
	Topics  []*Topic // by name
	// IDs tells a topic's name by its id; the same topics as Topics. No pointer
	// stands here, for an image is a tree (law 7).
	IDs map[ID]string
	// Configs are the set configs, by resource; a resource without any is not there.
	Configs      map[Resource][]env.Property // each sorted by name
	Features     []Feature                   // by name; no level 0
	NextProducer int64                       // the first producer id not handed out
}

// Broker is a registered broker.
type Broker struct {
	ID          int32
	Incarnation [16]byte
	Epoch       int64
	Endpoints   []Endpoint
	Rack        string // empty: none
	Fenced      bool
}

// Topic is a topic with its partitions; a partition's number is its place.
type Topic struct {
	Name       string
	ID         ID
	Partitions []PartitionState
}

// Feature is a finalized feature.
type Feature struct {
	Name  string
	Level int16
}

// NewImage is the image before the first record.
func NewImage() *Image {
	return &Image{IDs: make(map[ID]string), Configs: make(map[Resource][]env.Property)}
}

// Topic finds a topic by name; nil: there is none.
func (m *Image) Topic(name string) *Topic {
	if i, ok := m.place(name); ok {
		return m.Topics[i]
	}
	return nil
}

// TopicByID finds a topic by id; nil: there is none.
func (m *Image) TopicByID(id ID) *Topic {
	name, ok := m.IDs[id]
	if !ok {
		return nil
	}
	return m.Topic(name)
}

// place is where a topic of that name is, or would be.
func (m *Image) place(name string) (int, bool) {
	return slices.BinarySearchFunc(m.Topics, name, func(t *Topic, name string) int {
		switch {
		case t.Name < name:
			return -1
		case t.Name > name:
			return 1
		default:
			return 0
		}
	})
}

// Broker finds a registered broker.
func (m *Image) Broker(id int32) (*Broker, bool) {
	i := sort.Search(len(m.Brokers), func(i int) bool { return m.Brokers[i].ID >= id })
	if i < len(m.Brokers) && m.Brokers[i].ID == id {
		return &m.Brokers[i], true
	}
	return nil, false
}

// ConfigsOf are the set configs of a resource, by name.
func (m *Image) ConfigsOf(t ResourceType, name string) []env.Property {
	return m.Configs[Resource{t, name}]
}

// TopicConfigs are the overrides of a topic, by name.
func (m *Image) TopicConfigs(name string) []env.Property { return m.ConfigsOf(TopicResource, name) }

// Partition finds a partition; not ok: the topic has no such partition.
func (t *Topic) Partition(n int32) (*PartitionState, bool) {
	if n < 0 || int(n) >= len(t.Partitions) {
		return nil, false
	}
	return &t.Partitions[n], true
}

// HasReplica tells whether the broker holds a replica of the partition.
func (p *PartitionState) HasReplica(broker int32) bool { return slices.Contains(p.Replicas, broker) }

// Leads tells whether the broker leads the partition.
func (p *PartitionState) Leads(broker int32) bool { return p.Leader == broker }

// invariant holds for every partition at all times.
func (p *PartitionState) invariant(t *Topic, n int) {
	if p.Leader != NoLeader && !slices.Contains(p.ISR, p.Leader) {
		panic(fmt.Sprintf("metadata: %s-%d is led by %d, which is not in its ISR %v", t.Name, n, p.Leader, p.ISR))
	}
}
