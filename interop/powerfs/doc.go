// Package powerfs is a file system that loses what was not synced.
//
// What is it? A FUSE file system in memory, for tests of a real process. Its
// tree lives in a Disk, which can be mounted many times, one after the other.
//
// What goes in? The system calls of the process, and from the test: loss of
// power, flipped bits, failing writes and syncs, a full disk, a slow or hung one.
//
// What comes out? After PowerLoss the tree is one that a real disk could show:
// of each file the synced bytes, and of the pages written since any subset,
// whole, torn at a sector, or zeroed where they were new; of each directory the
// synced entries, and of the changes since any subset, each rename as one. A new
// file is lost with its entry, however often the file itself was synced.
//
// What always holds? What fsync confirmed is there: a file's bytes and size
// after its fsync, a directory's entries after the directory's.
//
// What is it not? It has no hard links, no mmap with shared writes, no owners
// and no clocks, and it is not fast.
package powerfs
