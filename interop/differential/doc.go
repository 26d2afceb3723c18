// Package differential asks Apache Kafka and Orrery the same questions and
// compares the answers field by field.
//
// What is it? A test. A case is a few requests to one API; it runs once for
// each version of that API, on a broker of each kind, with the same bytes: what
// a broker names itself (topic ids, producer ids, sessions, leader epochs) is
// put in as that broker named it.
//
// What goes in? Cases (cases_*.go) and the addresses of two brokers; the test
// starts both unless DIFFERENTIAL_KAFKA or DIFFERENTIAL_ORRERY name one.
//
// What comes out? For each step the answer as a list of (path, value), with ids,
// addresses and clocks replaced by words that are equal on both sides. A
// difference fails, unless meant.go gives the reason for it; a reason that no
// difference needs any more fails too.
//
// What always holds? Apache Kafka against Apache Kafka shows no difference
// (DIFFERENTIAL_SELF=1 runs that), so what is left is not noise.
//
// What is it not? It measures no time and starts no faults.
package differential
