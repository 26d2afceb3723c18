// Package log is one partition's log.
//
// What is it? Records in three forms: the journal says what must survive, the
// tail in memory is what is not readable from a file yet, segments are what is
// read from. Beside them the sparse index of each segment, the leader epochs
// with their first offsets, and what is remembered of idempotent producers.
//
// What goes in? Whole, verified batches; the disk's progress (Journaled,
// Stored); read wishes; what survived a crash. Journal and Outbox come as
// arguments and are not kept.
//
// What comes out? Journal entries, Stores, Drops, Trims; plans for reading,
// which the broker turns into Reads; and how far the log is written, synced and
// needed.
//
// What always holds?
//
//	start <= synced <= written <= end
//	stored and synced <= stored and written <= asked to be stored <= end
//
// A record is read from memory until its segment's Written has passed it, from
// the segment afterwards. A checkpoint counts only bytes that are Stored.Synced
// and records whose entries come before it. So a Store need not wait for the
// journal: bytes that a crash leaves in a segment beyond the journal's survivors
// are beyond every checkpoint too, and are trimmed at the start.
//
// What is it not? It knows no high watermark of its own (limits come as
// arguments), no leader, no clients, and no budget: the broker decides when a
// tail is stored and when a log is checkpointed.
package log
