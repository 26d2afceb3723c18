// Package door turns a client's bytes into a request the broker can trust, and
// the broker's answers into bytes.
//
// What goes in? A frame without its size prefix, or an answer. What comes out?
// A decoded request with every record batch verified, or a whole response frame.
// What always holds? Every function is pure, panics for no bytes, and holds no
// more memory than its Limits allow. Behind the door a (key, version) is one that
// Range knows, and a partition's Records are exactly one sound batch, whose
// largest timestamp is right, unless its BatchInfo has a Fault. What is it not? It knows no topics, no sessions and no
// quotas, and judges nothing that depends on the broker's state.
//
// # What the door is lenient about, as Kafka is
//
// Bytes behind a request are ignored, so are bytes behind a batch that are no
// batch; a length of -2 is null where null is allowed; unknown tags are skipped.
//
// # Where it is stricter than Kafka
//
// A batch is refused if its offset deltas are wrong, if it is in a transaction
// without a producer, if it carries a producer id without an epoch or the
// cleaner's delete horizon, if a key has a length of -2, and if its compressed
// stream has bytes behind its end: Kafka takes these, but not every consumer can
// read them. Null records are refused, not ignored. A fault costs its own partition and never the
// request. What can not be decompressed is CORRUPT_MESSAGE, which tells more than
// UNKNOWN_SERVER_ERROR; what decompresses to more than may be held is
// MESSAGE_TOO_LARGE, upon which producers split their batch.
package door
