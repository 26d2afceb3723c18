// Package replica is a partition's copy on this node: whether it leads, in
// which epoch, what of its log is committed, and who waits for that.
//
// What goes in? Appends, the journal's progress, a leadership. What comes out?
// Tickets of requests whose number has come. What always holds? The high
// watermark never falls and never passes the log's durable end; only what lies
// below it is shown. What is it not? It sends nothing and knows no request.
//
// On one node the in-sync replicas are the node itself, so that the watermark
// is the durable end. Followers will add their ends to committed, and nothing
// else of what is here changes.
package replica
