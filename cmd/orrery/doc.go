// Command orrery is a Kafka-compatible durable log, its simulator and its tools
// in one binary.
//
// What is it? The hand that holds everything else: it reads flags, builds what
// they ask for, runs it, and turns the end into an exit code.
//
// What goes in? The command line, the environment, stdin.
//
// What comes out? Results on stdout, talk on stderr, and an exit code that a
// script can trust: 0 done, 1 it failed, 2 the command line was wrong; check and
// sim have further codes, told by their --help.
//
// What always holds? Each command lives in a file of its own and has a --help
// with an example. An error is one plain sentence that says what to do.
//
// What is it not? It decides nothing about the log: no rule of the protocol or of
// the disk stands here.
package main
