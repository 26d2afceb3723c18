// Package sim drives a broker through virtual time: a disk, a network and clients
// that are simulated, faults that a seed draws, and oracles that compare every
// answer with all earlier ones.
//
// What is it? The seeded driver of the core, the sibling of node. A run is a
// Plan, which is plain values, and the broker under test.
//
// What goes in? A seed and the name of a profile; Draw makes the Plan of them.
//
// What comes out? A Result: the rolling hash over every event and Outbox, what
// happened how often, and, when a promise was broken, which one, at which step,
// and what was seen.
//
// What always holds? A run is a function of its Plan. Randomness is drawn by key
// (dice.go), time is a queue (queue.go), nothing waits for the world outside. What
// faults may legally lose stands in legal.go and nowhere else.
//
// What is it not? It knows nothing of the broker's inside: the oracles see what
// clients, disks and drivers see.
//
// # Reading order
//
// world.go is the loop, disk.go and crash.go the disk, net.go the network,
// producer.go, consumer.go, admin.go and audit.go the clients, truth.go and
// legal.go the oracles O1, O2 and O4, replay.go O6, wellformed.go O7, run.go the
// two phases and O8, laws.go the laws of core/env, draw.go what a seed means.
package sim
