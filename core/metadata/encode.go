package metadata

import (
	"encoding/binary"
	"fmt"
)

const frameVersion = 1

// Versions that are written. The lowest that says what is needed.
const (
	versionRegisterBroker = 1 // 1: in controlled shutdown
	versionOther          = 0
)

// Append appends the record's bytes, as a value in the metadata log.
func Append(b []byte, r Record) []byte {
	version := uint64(versionOther)
	if r.kind() == kindRegisterBroker {
		version = versionRegisterBroker
	}
	b = binary.AppendUvarint(b, frameVersion)
	b = binary.AppendUvarint(b, uint64(r.kind()))
	b = binary.AppendUvarint(b, version)
	switch r := r.(type) {
	case RegisterBroker:
		return r.append(b)
	case UnregisterBroker:
		b = appendInt64(appendInt32(b, r.Broker), r.Epoch)
	case AddTopic:
		b = append(appendString(b, r.Name), r.ID[:]...)
	case AddPartition:
		return r.append(b)
	case SetConfig:
		b = append(b, byte(r.Resource.Type))
		b = appendString(b, r.Resource.Name)
		b = appendString(b, r.Name)
		b = appendNullable(b, r.Value, r.Remove)
	case ChangePartition:
		return r.append(b)
	case RemoveTopic:
		b = append(b, r.ID[:]...)
	case SetFeature:
		b = appendInt16(appendString(b, r.Name), r.Level)
	case ProducerIDs:
		b = appendInt64(appendInt64(appendInt32(b, r.Broker), r.Epoch), r.Next)
	case NoOp:
	default:
		panic(fmt.Sprintf("metadata: no bytes for %T", r))
	}
	return append(b, 0) // no tagged fields
}

func (r RegisterBroker) append(b []byte) []byte {
	b = appendInt32(b, r.Broker)
	b = append(b, r.Incarnation[:]...)
	b = appendInt64(b, r.Epoch)
	b = binary.AppendUvarint(b, uint64(len(r.Endpoints))+1)
	for _, e := range r.Endpoints {
		b = appendString(appendString(b, e.Listener), e.Host)
		b = binary.BigEndian.AppendUint16(b, e.Port)
		b = appendInt16(b, e.Protocol)
		b = append(b, 0)
	}
	b = append(b, 1) // features: none
	b = appendNullable(b, r.Rack, r.Rack == "")
	b = appendBool(b, r.Fenced)
	b = appendBool(b, false) // not in controlled shutdown
	return append(b, 0)
}

func (r AddPartition) append(b []byte) []byte {
	b = appendInt32(b, r.Partition)
	b = append(b, r.Topic[:]...)
	b = appendInt32s(b, r.Replicas)
	b = appendInt32s(b, r.ISR)
	b = append(b, 1, 1) // nothing is being removed or added
	b = appendInt32(b, r.Leader)
	b = appendInt32(b, r.LeaderEpoch)
	b = appendInt32(b, r.PartitionEpoch)
	return append(b, 0)
}

// Tags of a ChangePartition.
const (
	tagISR      = 0
	tagLeader   = 1
	tagReplicas = 2
)

func (r ChangePartition) append(b []byte) []byte {
	b = appendInt32(b, r.Partition)
	b = append(b, r.Topic[:]...)
	fields := uint64(0)
	var tags []byte
	if r.ISR != nil {
		fields++
		tags = appendTag(tags, tagISR, appendInt32s(nil, r.ISR))
	}
	if r.Leader != LeaderAsIs {
		fields++
		tags = appendTag(tags, tagLeader, appendInt32(nil, r.Leader))
	}
	if r.Replicas != nil {
		fields++
		tags = appendTag(tags, tagReplicas, appendInt32s(nil, r.Replicas))
	}
	b = binary.AppendUvarint(b, fields)
	return append(b, tags...)
}
