// Package net carries Kafka's frames over TCP, and nothing more.
//
// What is it? A Server accepts connections. Each has a reader goroutine, which
// turns bytes into requests (core/door decodes and verifies there, beside the
// loop), and a writer goroutine, which turns replies into bytes.
//
// What goes in? Connections, and env.Replies in any order.
//
// What comes out? Bytes, in the order of N, and events for one sink: Opened,
// then Requests with N = 1, 2, 3, …, then Hangup; Sent in between. Hangup is the
// last event of a connection.
//
// What always holds?
//
//   - Memory grows with what arrived, never with what a size prefix announces:
//     see arrival. All frames in hand (arriving, or delivered and not answered)
//     are counted, and a frame that finds no room waits without disturbing others.
//   - A client that is too slow, in either direction, loses its connection: idle,
//     half a frame, answers that it does not read.
//   - Reply never blocks, so the loop never waits for a client. The replies of a
//     connection have no bound by number here, and need none: there is at most one
//     for each unanswered request, and those are bounded by MaxPipelined; their
//     bytes are bounded by the core's Replies budget, which counts them until Sent.
//   - The sink may block. Then readers wait, and through TCP their clients.
//     Writers call it for Sent, and nobody who takes from the sink waits for a
//     writer; so this cannot become a deadlock.
//
// What is it not? It knows no API but ApiVersions' place in the door's tables, no
// broker and no time but the time-outs of its Options.
package net
