package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
)

// InitProducerId (KIP-98): v2 is flexible, v3 brought the producer's own id and
// epoch (KIP-360), v5 transactions of the second kind (KIP-890).
//
// Ids are given from a block that the metadata log has committed as used, so
// that none is given twice, whatever crashes.

// ids is the block of producer ids of this life.
type ids struct {
	next, end int64
	asked     bool // the next block is on its way
	waiting   []idRequest
}

type idRequest struct {
	conn    env.ConnID
	n       uint64
	version int16
}

func (b *Broker) onInitProducerID(r env.Request, req *kmsg.InitProducerIDRequest, out *env.Outbox) {
	if req.TransactionalID != nil || (req.ProducerID == -1) != (req.ProducerEpoch == -1) {
		res := req.ResponseKind().(*kmsg.InitProducerIDResponse)
		res.ErrorCode, res.ProducerID, res.ProducerEpoch = env.InvalidRequest, -1, -1
		b.reply(out, r.Conn, r.N, res)
		return
	}
	b.ids.waiting = append(b.ids.waiting, idRequest{r.Conn, r.N, req.Version})
	b.giveIDs(out)
}

// giveIDs answers who waits for a producer id, and asks for a new block when
// this one is used up.
func (b *Broker) giveIDs(out *env.Outbox) {
	q := &b.ids
	for len(q.waiting) > 0 && q.next < q.end {
		w := q.waiting[0]
		q.waiting = q.waiting[1:]
		if b.conns[w.conn] == nil {
			continue
		}
		res := kmsg.NewPtrInitProducerIDResponse()
		res.SetVersion(w.version)
		res.ProducerID, res.ProducerEpoch = q.next, 0
		q.next++
		b.reply(out, w.conn, w.n, res)
	}
	if len(q.waiting) > 0 && !q.asked {
		q.asked = true
		b.admin.queue = append(b.admin.queue, adminOp{kind: opBlock})
	}
}
