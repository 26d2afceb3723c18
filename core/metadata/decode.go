package metadata

import "fmt"

// Parse reads one record's bytes. It believes nothing: every length is bounded by
// the bytes that are there, and bytes behind the record are a fault.
func Parse(b []byte) (Record, error) {
	r := &reader{rest: b}
	if v := r.uvarint(); r.err == nil && v != frameVersion {
		return nil, fmt.Errorf("metadata record: frame version %d; this release reads %d", v, frameVersion)
	}
	kind, version := Kind(r.uvarint()), r.uvarint()
	if r.err != nil {
		return nil, r.err
	}
	if newest, ok := newestVersion(kind); !ok || version > newest {
		return nil, fmt.Errorf("metadata record: type %d version %d is of a newer release", kind, version)
	}
	rec := parseBody(r, kind, version)
	if r.err == nil && len(r.rest) != 0 {
		r.fail(fmt.Errorf("metadata record: %d bytes behind it", len(r.rest)))
	}
	if r.err != nil {
		return nil, r.err
	}
	return rec, nil
}

// newestVersion is the newest version of a record type that can be read.
func newestVersion(k Kind) (uint32, bool) {
	switch k {
	case kindRegisterBroker, kindPartition:
		return 1, true
	case kindUnregisterBroker, kindTopic, kindConfig, kindPartitionChange, kindRemoveTopic, kindFeatureLevel, kindProducerIDs, kindNoOp:
		return 0, true
	default:
		return 0, false
	}
}

func parseBody(r *reader, kind Kind, version uint32) Record {
	var rec Record
	switch kind {
	case kindRegisterBroker:
		return parseRegisterBroker(r, version)
	case kindPartition:
		return parsePartition(r, version)
	case kindPartitionChange:
		return parsePartitionChange(r)
	case kindUnregisterBroker:
		rec = UnregisterBroker{Broker: r.int32(), Epoch: r.int64()}
	case kindTopic:
		rec = AddTopic{Name: r.string(), ID: r.uuid()}
	case kindConfig:
		c := SetConfig{Resource: Resource{Type: ResourceType(r.int8()), Name: r.string()}, Name: r.string()}
		c.Value, c.Remove = r.nullable()
		rec = c
	case kindRemoveTopic:
		rec = RemoveTopic{ID: r.uuid()}
	case kindFeatureLevel:
		rec = SetFeature{Name: r.string(), Level: r.int16()}
	case kindProducerIDs:
		rec = ProducerIDs{Broker: r.int32(), Epoch: r.int64(), Next: r.int64()}
	case kindNoOp:
		rec = NoOp{}
	default:
		panic(fmt.Sprintf("metadata: no parser for type %d", kind))
	}
	r.tags(nil)
	return rec
}

func parseRegisterBroker(r *reader, version uint32) Record {
	rec := RegisterBroker{Broker: r.int32(), Incarnation: r.uuid(), Epoch: r.int64()}
	for range r.count(7) {
		e := Endpoint{Listener: r.string(), Host: r.string(), Port: uint16(r.int16()), Protocol: r.int16()}
		r.tags(nil)
		rec.Endpoints = append(rec.Endpoints, e)
	}
	for range r.count(6) { // features: name, least and greatest level
		r.string()
		r.int32()
		r.tags(nil)
	}
	rec.Rack, _ = r.nullable()
	rec.Fenced = r.bool()
	if version >= 1 {
		r.bool() // in controlled shutdown
	}
	r.tags(nil)
	return rec
}

func parsePartition(r *reader, version uint32) Record {
	rec := AddPartition{Partition: r.int32(), Topic: r.uuid()}
	rec.Replicas, rec.ISR = r.int32s(), r.int32s()
	r.int32s() // being removed
	r.int32s() // being added
	rec.Leader, rec.LeaderEpoch, rec.PartitionEpoch = r.int32(), r.int32(), r.int32()
	if version >= 1 {
		for range r.count(16) { // log directories
			r.uuid()
		}
	}
	r.tags(nil)
	return rec
}

func parsePartitionChange(r *reader) Record {
	rec := ChangePartition{Partition: r.int32(), Topic: r.uuid(), Leader: LeaderAsIs}
	r.tags(func(number uint32, field *reader) bool {
		switch number {
		case tagISR:
			rec.ISR = field.int32s()
		case tagLeader:
			rec.Leader = field.int32()
		case tagReplicas:
			rec.Replicas = field.int32s()
		default:
			return false
		}
		return true
	})
	return rec
}
