// Package jobs computes what the broker asks for in Outbox.Jobs.
//
// What goes in? A Job. What comes out? Its Done. What always holds? Run is a
// pure function of the job, so it may run on any goroutine, in any order, twice.
// What is it not? It never sees the broker's state.
package jobs
