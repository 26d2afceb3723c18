// Package plain sends a value through bytes and back, whatever its types are, as
// long as it is plain data: a tree of structs, slices, maps, pointers, strings
// and numbers.
//
// What goes in? A pointer to a value, unexported fields and all. What comes out?
// Bytes, and from bytes a value that is equal and shares nothing. What always
// holds? Equal values give equal bytes: maps are written in the order of their
// keys' bytes. A func, channel or interface, or two pointers to one thing, is
// refused with its place. What is it not? It is no format to keep: a changed
// type reads other bytes.
package plain
