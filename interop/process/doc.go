// Package process runs `orrery serve` and Apache Kafka as real processes for tests.
//
// What goes in? Settings, a folder. What comes out? A Node: its address, its
// standard error, its memory, and the ways to end it. What always holds? A Node
// is ended when its test ends. What is it not? It speaks no Kafka.
package process
