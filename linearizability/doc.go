// Package linearizability judges what clients of a Kafka-protocol log saw.
//
// What is it? A history (who asked what, when, and what came back) and the
// checks that need nothing else. The same code judges the simulator's clients, a
// real orrery under SIGKILL, and any other broker.
//
// What goes in? A History, from the simulator, from a Recorder or from a file.
//
// What comes out? A Verdict: the history holds, or these anomalies with their
// evidence, or nothing can be said and why. Unknown is never a pass.
//
// What always holds? The checks are pure: the same history gives the same
// verdict. Apart from sorting they are linear passes; 100,000 operations take
// well under a second. The porcupine windows (CheckWindows) come to the same
// verdict by another way and are there to catch a mistake of the passes.
//
// What is it not? It knows no broker, no disk and no clock: time is the order of
// events. What only an insider can see (epochs, replicas, watermarks that no
// client was told) is watched elsewhere.
//
// # FORMAT
//
// A history file has one JSON object a line, at most 16 MiB long. A name that is
// not listed here is refused, because a mistyped name would weaken a check.
//
//	event      a number, strictly increasing from line to line, above 0: the only clock
//	type       "invoke", then "ok", "fail" or "unknown"; or "note", which stands alone
//	of         on ok, fail and unknown: the event of the invoke that it ends
//	process    on invoke: who asks, a number; may have several requests in flight
//	op         on invoke: produce, poll, latest, delete or assign; on note: power-loss, final or note
//	topic      on invoke: the topic; one that was recreated under its old name is another
//	           topic and needs another name here ("orders#2")
//	partition  on invoke: the partition
//	text       on note: for people
//
// ok means that it happened, fail that it did not and will not, unknown that it
// may have or may yet (a time-out). An invoke that nothing ends is unknown.
//
//	produce  records   on invoke: [{"id":7,"sum":99}, …]: one batch, appended whole or not at all.
//	                   id names a record's contents for ever (above 0); sum, when
//	                   given, is a checksum of all that was sent (0: none)
//	         acks      on invoke: "all" (when left out), "1" or "0"
//	         idempotent on invoke: true for an idempotent producer. Such a process
//	                   is one producer session: a new producer id is a new process
//	         offset    on ok: the offset of the first record; needed for acks "all"
//	         attempts  on the end: how often it was sent (1 when left out, -1 when not known)
//	poll     offset    on invoke: the offset asked for, or -1: where the consumer stands
//	         records   on ok: [{"id":7,"offset":12,"sum":99}, …]; id 0 is a record of somebody else
//	         end       on ok: the high watermark in the answer, -1 when not known
//	         start     on ok: the log start in the answer, -1 when not known
//	latest   end       on ok: what ListOffsets answered for the latest offset
//	delete   offset    on invoke: DeleteRecords before this offset
//	assign             the consumer's position is chosen anew: the next poll of this process
//	                   continues nothing
//
// The note power-loss says that machines lost power: from there on a relaxed
// topic may have lost what was acknowledged before. The note final says that
// afterwards every partition was read to its end, so that an acknowledged record
// that nobody ever saw is an anomaly, and not merely unread.
//
//	{"event":1,"type":"invoke","process":1,"op":"produce","topic":"orders","partition":0,"records":[{"id":1},{"id":2}]}
//	{"event":2,"type":"invoke","process":2,"op":"poll","topic":"orders","partition":0,"offset":0}
//	{"event":3,"type":"ok","of":1,"offset":0}
//	{"event":4,"type":"ok","of":2,"records":[{"id":1,"offset":0},{"id":2,"offset":1}],"end":2}
package linearizability
