package controller

import (
	"fmt"

	"github.com/orrery-log/orrery/core/metadata"
)

// Registration is a broker that begins a life.
type Registration struct {
	Broker      int32
	Incarnation [16]byte
	Endpoints   []metadata.Endpoint
	Rack        string
}

// RegisterBroker decides the registration of a new life. Its broker epoch is the
// place in the metadata log, as in KRaft: it grows with each. Applying it raises
// the leader epoch of every partition that the broker leads.
func RegisterBroker(c Context, r Registration) []metadata.Record {
	return []metadata.Record{metadata.RegisterBroker{
		Broker: r.Broker, Incarnation: r.Incarnation, Epoch: c.At, Endpoints: r.Endpoints, Rack: r.Rack,
	}}
}

// AllocateProducerIDs gives a registered broker the next n producer ids. The record
// is committed before one of them is given to a producer, so that none is given twice.
func AllocateProducerIDs(c Context, broker int32, n int64) []metadata.Record {
	b, ok := c.Image.Broker(broker)
	if !ok {
		panic(fmt.Sprintf("controller: producer ids for broker %d, which is not registered", broker))
	}
	return []metadata.Record{metadata.ProducerIDs{Broker: broker, Epoch: b.Epoch, Next: c.Image.NextProducer + n}}
}
