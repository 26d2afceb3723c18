// Package crash kills a real `orrery serve` under load and lets
// linearizability judge what its clients saw.
//
// What goes in? Rounds: -crash.rounds of SIGKILL, -power.rounds of lost power on
// a disk that keeps only what was synced (interop/powerfs), flipped bits (four for
// each round of lost power), and single troubles of such a disk. What comes out? A verdict over one history of all rounds:
// nothing acknowledged is lost, doubled or out of order; and the history, at
// -crash.history, for `orrery check`.
//
// What always holds? At each kill a produce is on its way. A build that
// acknowledges too early fails the same rounds, one that does not sync those of lost
// power, one that verifies no checksum those of flipped bits. What is it not? It proves
// nothing about interleavings: the simulator looks for those.
package crash
