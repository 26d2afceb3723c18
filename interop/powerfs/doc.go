// Package powerfs is a file system for tests, mounted with FUSE, that knows what a loss of power would leave.
//
// What is it? One directory tree in memory that a real process uses as its disk,
// and beside it a record of what has been synced. PowerOff and PowerOn turn the
// tree into one of the states that this record allows.
//
// What goes in? System calls of the process under test, through the kernel;
// faults, full disks, flipped bits and losses of power, through Go calls.
//
// What comes out? The answers that a disk gives, its errors, its silence; and
// after a loss of power a tree that a disk may hold: of the pages that no fsync
// covered any subset, whole, torn or zeroed; sizes undone or kept with zeros; of
// the names that no fsync of their directory covered any subset, a rename as one.
//
// What always holds? Bytes and size of a file that were synced, and a name that an
// fsync of its directory covered, survive. This is the strictest reading of POSIX:
// fsync of a file covers its data and its size and not its name, and fsync of a
// directory covers its own names and nothing above or below it. Most file systems
// promise more; a program that is right here is right on them. After a failed
// fsync the pages that it was to write are gone, and the next fsync succeeds.
//
// What is it not? It keeps nothing, and it has only what a data directory needs:
// files, directories, rename, unlink, truncate, fsync; the kernel adds flock. Two
// things are kinder than a disk: the kernel lets no write into a file while an fsync
// of that file is under way, and bytes once synced never tear when bytes beside
// them are written.
package powerfs
