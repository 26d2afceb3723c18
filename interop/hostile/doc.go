// Package hostile does to a real `orrery serve` what no client should.
//
// What goes in? Bytes: impossible requests, announcements without bytes behind
// them, bombs, readers that never read. What comes out? For each, that it got a
// Kafka error or a closed connection; that the process's memory stayed bounded
// (the curve is printed); and that a bystander, a client that writes and reads
// all the time, was not disturbed.
//
// What always holds? One process stands through all of it. What is it not? A
// fuzzer: those run on the decoders themselves.
package hostile
