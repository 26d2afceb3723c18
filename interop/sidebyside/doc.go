// Package sidebyside measures orrery and Apache Kafka one after the other, with the
// same client on the same machine in the same run (make bench).
//
// What goes in? BENCH=1, and if wanted BENCH_RECORDS (1,000,000) and BENCH_FOR (20s).
// What comes out? A table of both and their ratio: produce and consume throughput on
// 1 and on 100 partitions, end-to-end latency at 10,000 records a second, CPU seconds
// of the server for each GB, idle memory, start-up. Once with the defaults of both
// (Kafka writes, orrery syncs), once with both syncing before each ack.
// What always holds? Only one server runs at a time. What is it not? A benchmark of
// clusters, or of clients.
package sidebyside
