package controller

import (
	"slices"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/metadata"
)

// Assignment says which brokers hold one partition; the first leads.
type Assignment struct {
	Partition int32
	Replicas  []int32
}

// usable are the brokers that new replicas are given to, by id.
func usable(m *metadata.Image) []int32 {
	var ids []int32
	for i := range m.Brokers {
		if !m.Brokers[i].Fenced {
			ids = append(ids, m.Brokers[i].ID)
		}
	}
	return ids
}

// place gives count partitions from number first on their replicas: leaders go
// around the brokers from a drawn start, followers are the brokers after them.
func place(c Context, topic string, first, count int32, factor int16) ([][]int32, Problem) {
	brokers := usable(c.Image)
	if int(factor) > len(brokers) {
		return nil, problem(env.InvalidReplicationFactor,
			"Unable to replicate the partition %d time(s): only %d broker(s) are registered and not fenced.", factor, len(brokers))
	}
	start := env.Draw(c.Seed, "first leader of "+topic, uint64(c.At)) % uint64(len(brokers))
	placed := make([][]int32, 0, count)
	for p := range count {
		replicas := make([]int32, 0, factor)
		for r := range factor {
			replicas = append(replicas, brokers[(start+uint64(first+p)+uint64(r))%uint64(len(brokers))])
		}
		placed = append(placed, replicas)
	}
	return placed, Problem{}
}

// soundReplicas: a given replica list is not empty, names registered brokers, none
// twice, and not only fenced ones: such a partition would have nobody in sync, and
// nobody could ever be elected.
func soundReplicas(m *metadata.Image, replicas []int32) Problem {
	if len(replicas) == 0 {
		return problem(env.InvalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
	}
	alive := false
	for i, id := range replicas {
		b, ok := m.Broker(id)
		if !ok {
			return problem(env.InvalidReplicaAssignment, "The manual partition assignment includes broker %d, but no such broker is registered.", id)
		}
		if slices.Contains(replicas[:i], id) {
			return problem(env.InvalidReplicaAssignment, "The manual partition assignment includes the broker %d more than once.", id)
		}
		alive = alive || !b.Fenced
	}
	if !alive {
		return problem(env.InvalidReplicaAssignment, "All brokers of the manual partition assignment %v are fenced.", replicas)
	}
	return Problem{}
}

// newPartition is a partition's first state: its replicas that are not fenced are
// in sync, since there is nothing to have missed, and the first of them leads.
func newPartition(m *metadata.Image, replicas []int32) metadata.PartitionState {
	var isr []int32
	for _, id := range replicas {
		if b, ok := m.Broker(id); ok && !b.Fenced {
			isr = append(isr, id)
		}
	}
	return metadata.PartitionState{Replicas: replicas, ISR: isr, Leader: isr[0]}
}
