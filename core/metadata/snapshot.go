package metadata

import "sort"

// Records are records that build this image from nothing. Registrations come
// first: applying one raises the epochs of what its broker leads.
func (m *Image) Records() []Record {
	var out []Record
	for _, f := range m.Features {
		out = append(out, SetFeature(f))
	}
	for _, b := range m.Brokers {
		out = append(out, RegisterBroker{Broker: b.ID, Incarnation: b.Incarnation, Epoch: b.Epoch, Endpoints: b.Endpoints, Rack: b.Rack, Fenced: b.Fenced})
	}
	for _, t := range m.Topics {
		out = append(out, AddTopic{Name: t.Name, ID: t.ID})
		for i := range t.Partitions {
			out = append(out, AddPartition{Topic: t.ID, Partition: int32(i), PartitionState: t.Partitions[i]})
		}
	}
	for _, r := range m.Resources() {
		for _, p := range m.Configs[r] {
			out = append(out, SetConfig{Resource: r, Name: p.Name, Value: p.Value})
		}
	}
	if m.NextProducer > 0 {
		out = append(out, ProducerIDs{Broker: -1, Epoch: -1, Next: m.NextProducer})
	}
	return out
}

// Resources are the resources that have set configs, by type and name.
func (m *Image) Resources() []Resource {
	out := make([]Resource, 0, len(m.Configs))
	for r := range m.Configs { //purity:ordered sorted below
		out = append(out, r)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Type != out[j].Type {
			return out[i].Type < out[j].Type
		}
		return out[i].Name < out[j].Name
	})
	return out
}

// Digest is equal for equal images: what replay must share with live state.
func (m *Image) Digest() uint64 {
	digest := uint64(fnvOffset)
	var b []byte
	for _, r := range m.Records() {
		b = Append(b[:0], r)
		for _, c := range b {
			digest = (digest ^ uint64(c)) * fnvPrime
		}
	}
	return digest
}

// FNV-1a of 64 bits.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)
