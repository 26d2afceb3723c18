// Package metadata is the cluster as data: the records of the metadata log, and
// the image that they build.
//
// What is it? Records are what changes; the image is what holds: topics with
// their partitions, configs, broker registrations, the next producer id, features.
//
// What goes in? The values of the metadata log's records, in order.
//
// What comes out? The image, and the records that would build it from nothing.
//
// What always holds? The image depends on the records and their order only:
// replay gives what live application gave (Digest tells). Lists are sorted, so
// that nothing depends on the order of a map. A partition that has a leader has it
// in its ISR, and its leader epoch never falls.
//
// What is it not? It decides nothing: core/controller does. It knows no offsets
// and no durability: the broker applies a record when that is due.
//
// # The bytes
//
// A record is framed as KRaft frames it: uvarint frame version (1), uvarint record
// type, uvarint record version, and the fields in the flexible encoding, so that
// Kafka's own tools can read the log. Types are KRaft's. Versions are the lowest
// that can say what we need; a parser takes higher ones of the same shape.
//
// # A start is a new life
//
// Applying a RegisterBroker of a node raises the leader epoch of every partition
// that the node leads, without a record for each. A leader that comes back may
// have lost unsynced records that somebody has seen; under the old epoch it could
// write others at the same offsets, and nobody could tell them apart.
package metadata
