// Package node is the production driver: it runs one broker on real time, a real
// disk and real sockets.
//
// What is it? One goroutine, the loop, that owns the broker. It takes what has
// happened, Steps the broker through it, and hands the Outbox out. Beside it stand
// net's connections, disk's goroutines, and jobs.
//
// What goes in? Settings (a file, the environment, the command line), and an
// operating system.
//
// What comes out? A broker that answers, one line "ready HOST:PORT" when it does,
// logs, metrics, and an error when it can not go on.
//
// What always holds?
//
//   - One Step at a time, of one broker, with a Mono that never falls; a Tick no
//     later than WakeAt.
//   - Everything in an Outbox is handed out before the next batch of events is
//     taken, and handing out never waits: disk.Act, net's Reply and the jobs'
//     goroutines all take without blocking. So the loop waits for nobody, and who
//     waits for the loop (a reader of a connection whose queue is full, the disk
//     with its events) is always served.
//   - Clients are accepted after the broker's Ready, not before. Until then they
//     queue in the system.
//   - A disk error ends the node: the process must not go on after it.
//
// What is it not? It decides nothing. If a line here has an opinion on topics,
// offsets or requests, it is in the wrong package.
//
// # From setting to broker
//
//	file < ORRERY_* < --set     Load: parse, merge, check (core/config)
//	Settings                    what was given, and what counts
//	env.Config, net.Options, disk.Options
//
// # A start
//
//	open the data directory → who am I (cluster id, node id) → bind the listeners
//	→ feed the broker what Survived, piece by piece → Ready → accept
//
// # A stop
//
//	no new connections or requests → answer what is in flight → stop the loop
//	→ the disk finishes what it was given, syncs, and gives the directory back
package node
