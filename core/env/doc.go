// Package env is the border of the core: the events that come in, the effects
// that go out, and the laws that both sides keep.
//
// What is it? A broker is a value with one verb, Step(now, event, outbox). This
// package holds the words of that sentence and nothing that acts on them.
//
// What goes in? Events: recovery pieces, requests, answers of peers, progress of
// the disk, finished jobs, ticks.
//
// What comes out? An Outbox: journal entries, cuts, stores, reads, drops, trims,
// jobs, calls, replies, notes.
//
// What always holds? The laws below. The simulator asserts them at every Step.
//
// What is it not? It is no driver: it knows neither time nor files nor sockets.
//
// # The laws
//
//  1. One Step at a time; Step never blocks. An event's bytes belong to the
//     broker from then on; the Outbox stays the driver's. Bytes are immutable
//     from their first Outbox on and never pooled before they are done with.
//  2. Mono never runs backwards; a Tick comes no later than WakeAt. Wall may
//     jump. Nothing durable stores Mono.
//  3. All of an Outbox may happen, in any order; after a crash any part of it
//     may be missing. Seq orders the journal, a lane its Calls, N a connection's
//     Replies; nothing else is ordered.
//  4. Journaled and Stored are the only promises about the disk. The driver owes
//     both numbers for every Entry and every Store, unasked.
//  5. Messages may be lost, doubled, delayed, and reordered across connections;
//     an Answer may be for a request that the peer never saw.
//  6. Within a life a segment's bytes are written once. The entry that opens a
//     segment is Synced before its first Store is in an Outbox. A Drop is in an
//     Outbox only when the entry that gives the segment up is Synced and no
//     Store or Read of it is outstanding. A record is read from memory until its
//     segment's Written has passed it, from the segment afterwards; there is no
//     third place.
//  7. A Broker is plain data under one root: no funcs, channels or interfaces;
//     every cross-reference is a ticket or an id. A Request that waits at the
//     door is kept as (key, version, bytes, BatchInfo).
//
// Recovery is ordinary Steps: the driver hands over Survived pieces, the next
// one when the broker sets More. Before Last nothing is journaled, cut or
// dropped; the broker may Trim, Store and Read.
package env
