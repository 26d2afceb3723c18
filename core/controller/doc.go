// Package controller decides: a request to change the cluster becomes metadata
// records and an answer.
//
// What goes in? The committed image, the broker's settings, and a request in
// words of our own.
//
// What comes out? The records to append, and for each part of the request its
// answer, to be given when the records are committed.
//
// What always holds? A decision changes nothing by itself: the image is read
// only. The same input gives the same records. Records that a decision gives
// always fit the image that it was made on, so they are appended and applied
// whole, before the next decision is made.
//
// What is it not? It does no I/O, keeps no state, knows no wire format. It is
// called only when no earlier decision is uncommitted; so it never has to think
// of what may still be lost.
//
// Each file tells one story; each rule that keeps the cluster safe is a predicate
// with a name.
package controller
