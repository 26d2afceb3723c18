// Package wait is waiting for a number that rises, and for a time that comes.
//
// What goes in? Plain values with a key (an offset, a Seq) or a deadline. What
// comes out? The values whose key was reached, in the order they were given;
// the values whose deadline has passed, by deadline and then in the order they
// were given. What always holds? A Queue's keys never fall. What is it not? It
// calls nobody back: whoever learns that a number rose asks who waited for it.
package wait
