// Package journal knows what the entries of a shard's journal say, and keeps
// count of how far the journal has come.
//
// What goes in? Facts about one log (records were appended, a segment was
// opened, the start moved, …) and the disk's progress. What comes out? Entries
// with their Seq and header bytes, cuts, and the two numbers Written and Synced.
//
// What always holds? Seq rises by one with each entry and is never given twice
// to an entry that survives. A header begins with its kind and version; parsers
// bound everything they read, because a disk is a stranger. A damaged payload
// still tells by its header what it was.
//
// What is it not? It decides neither what is journaled nor what may be cut: a
// log says which Seq it still needs, and the broker takes the least.
package journal
