package metadata

import (
	"fmt"
	"testing"
)

func BenchmarkApply10000Partitions(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		m := NewImage()
		m.Apply(RegisterBroker{Broker: 1})
		for i := range 10000 {
			id := ID{byte(i), byte(i >> 8), 1}
			m.Apply(AddTopic{fmt.Sprint("topic-", i), id})
			m.Apply(AddPartition{Topic: id, PartitionState: PartitionState{Replicas: []int32{1}, ISR: []int32{1}, Leader: 1}})
		}
		m.Apply(RegisterBroker{Broker: 1})
	}
}

func BenchmarkParse(b *testing.B) {
	data := Append(nil, AddPartition{PartitionState: PartitionState{Replicas: []int32{1}, ISR: []int32{1}, Leader: 1}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}
