// Package disk carries out what the core asks of the disk, on real files.
//
// What is it? A thin, exact adapter between env.Outbox and a data directory: one
// journal on tidwall/wal, and plain segment files.
//
//	DIR/orrery.lock       locked while a process uses the directory; holds its pid
//	DIR/orrery.format     the version of all that follows
//	DIR/meta.properties   facts of the node that outlive it (cluster id, node id)
//	DIR/journal/          files of the journal, named by their first frame's index
//	DIR/segments/         <topic id>/<partition>/<base offset>-<gen>.log
//	DIR/accept-loss/      notes of an operator: the damage of that log is accepted
//	DIR/strays/           files found in the journal that are not ours
//
// What goes in? The disk parts of an Outbox, through Act. At a start: whatever a
// crash, a loss of power, or rot left in the directory.
//
// What comes out? Journaled, Stored, Loaded and Space events; at a start the
// pieces of Survived; on trouble one error, after which nothing is confirmed.
//
// What always holds?
//
//   - Synced is said only of bytes that were written, fsynced without an error,
//     and whose directory entries were fsynced too.
//   - A write or fsync that fails is final: it is never tried again, because
//     the kernel may have marked the lost pages clean.
//   - What the journal hands over after a crash carries its own checksums, which
//     fitted. What was synced and can not be read is reported, never cut silently.
//   - One goroutine owns the journal, one owns the segments; both take their work
//     from queues that only the core's budgets bound, so Act never waits for the
//     medium, and the events' reader may stall them without a deadlock.
//
// What is it not? It decides nothing: which entries are needed, what a header
// means, when a segment ends, whether there is room, are all the core's.
package disk
