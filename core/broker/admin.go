package broker

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/metadata"
)

// adminQueue holds the requests that change the metadata. One is decided at a
// time, on the committed image, when nothing of an earlier decision is on its
// way: so a decision never rests on what may yet be lost.
type adminQueue struct {
	queue  []adminOp
	flight *flight // the decision whose records are not committed
}

type opKind uint8

const (
	opRequest  opKind = iota // a client's request
	opCreate                 // topics that a Metadata request creates on the way
	opBlock                  // a block of producer ids
	opRegister               // this life's registration
)

// adminOp is a decision to be made. A request is kept as its bytes (law 7).
type adminOp struct {
	kind     opKind
	conn     env.ConnID
	n        uint64
	key      int16
	version  int16
	body     []byte
	listener string // where the client came in
}

// own tells whether the broker asks this itself.
func (op *adminOp) own() bool { return op.kind == opBlock || op.kind == opRegister }

// flight is a decision that was made.
type flight struct {
	op     adminOp
	end    int64 // of the metadata log, behind its records
	answer answer
}

// answer is the response of a decision, sent when its records are committed and
// applied. At most one is set.
type answer struct {
	createTopics     *kmsg.CreateTopicsResponse
	deleteTopics     *kmsg.DeleteTopicsResponse
	createPartitions *kmsg.CreatePartitionsResponse
	alterConfigs     *kmsg.AlterConfigsResponse
	incrementalAlter *kmsg.IncrementalAlterConfigsResponse
}

func (a *answer) body() kmsg.Response {
	switch {
	case a.createTopics != nil:
		return a.createTopics
	case a.deleteTopics != nil:
		return a.deleteTopics
	case a.createPartitions != nil:
		return a.createPartitions
	case a.alterConfigs != nil:
		return a.alterConfigs
	case a.incrementalAlter != nil:
		return a.incrementalAlter
	default:
		panic("broker: a decision without an answer")
	}
}

// enqueueAdmin queues a client's request for a decision.
func (b *Broker) enqueueAdmin(r env.Request, out *env.Outbox) {
	b.admin.queue = append(b.admin.queue, b.asOp(opRequest, r))
}

// asOp keeps a request as its bytes.
func (b *Broker) asOp(kind opKind, r env.Request) adminOp {
	return adminOp{
		kind: kind, conn: r.Conn, n: r.N, key: r.Body.Key(), version: r.Body.GetVersion(), body: r.Body.AppendTo(nil),
		listener: b.conns[r.Conn].listener,
	}
}

// request reads the bytes back.
func (op *adminOp) request() kmsg.Request {
	req := kmsg.RequestForKey(op.key)
	req.SetVersion(op.version)
	if err := req.ReadFrom(op.body); err != nil {
		panic(fmt.Sprintf("broker: key %d version %d does not read what it wrote: %v", op.key, op.version, err))
	}
	return req
}

// advanceAdmin makes the next decision when it is its turn. It tells whether it did.
func (b *Broker) advanceAdmin(out *env.Outbox) bool {
	if b.phase < registering || b.admin.flight != nil || len(b.admin.queue) == 0 || !b.metaIdle() {
		return false
	}
	op := b.admin.queue[0]
	b.admin.queue = b.admin.queue[1:]
	if len(b.admin.queue) == 0 {
		b.admin.queue = nil
	}
	f := &flight{op: op}
	records := b.decide(&op, &f.answer)
	b.admin.flight = f
	if len(records) > 0 {
		f.end = b.appendMeta(records, out)
		return true
	}
	b.decided(out)
	return true
}

// decide makes one decision on the committed image.
func (b *Broker) decide(op *adminOp, a *answer) []metadata.Record {
	switch op.kind {
	case opRegister:
		return b.decideRegistration()
	case opBlock:
		return b.decideBlock()
	case opCreate:
		return b.decideAutoCreate(op.request().(*kmsg.MetadataRequest))
	}
	if b.lowSpace() && op.key != int16(kmsg.DeleteTopics) {
		return b.refuseAdmin(op.request(), a, env.KafkaStorageError)
	}
	switch req := op.request().(type) {
	case *kmsg.CreateTopicsRequest:
		return b.decideCreateTopics(req, a)
	case *kmsg.DeleteTopicsRequest:
		return b.decideDeleteTopics(req, a)
	case *kmsg.CreatePartitionsRequest:
		return b.decideCreatePartitions(req, a)
	case *kmsg.AlterConfigsRequest:
		return b.decideAlterConfigs(req, a)
	case *kmsg.IncrementalAlterConfigsRequest:
		return b.decideIncrementalAlterConfigs(req, a)
	default:
		panic(fmt.Sprintf("broker: no decision for %T", req))
	}
}

// decided answers when a decision's records are committed and applied.
func (b *Broker) decided(out *env.Outbox) {
	f := b.admin.flight
	b.admin.flight = nil
	switch f.op.kind {
	case opRegister:
		b.registered(out)
	case opBlock:
		b.ids.asked = false
		b.giveIDs(out)
	case opCreate:
		b.reply(out, f.op.conn, f.op.n, b.metadataResponse(f.op.request().(*kmsg.MetadataRequest), f.op.listener))
	default:
		b.reply(out, f.op.conn, f.op.n, f.answer.body())
	}
}
