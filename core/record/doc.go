// Package record knows the bytes of a record batch of format v2 (magic 2,
// KIP-98) and keeps no state.
//
// What goes in? Bytes. What comes out? Header fields, in-place rewrites that
// keep the checksum right, new batches. What always holds? A Batch that came
// from Next or Build is whole: its length field matches its slice. What is it
// not? It decompresses nothing and judges no client: that is core/door.
package record
