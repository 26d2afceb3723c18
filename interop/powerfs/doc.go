// Package powerfs is a file system for tests, mounted with FUSE, that knows what a loss of power would leave.
//
// What it is: one directory tree in memory that a real process uses as its disk, and a second record beside it of what
// has been synced. PowerCut turns the first into one of the states that the second allows.
//
// What goes in: system calls of the process under test, through the kernel; faults and cuts, through Go calls.
//
// What comes out: the answers that a disk gives, its errors, its silence; and after a cut a tree that a disk may hold.
//
// What always holds: a page of a file that was synced, the size that was synced with it, and a name that an fsync of
// its directory covered survive every cut. Everything else survives in a subset that a seed draws. This is the strictest
// reading of POSIX: fsync of a file covers its data and its size and not its name, and fsync of a directory covers its
// own names and nothing below it. Most file systems promise more, and a program that is right here is right on them.
//
// What it is not: a file system to keep anything in, or one that is complete. It has what a broker's data directory
// needs: files, directories, rename, unlink, truncate, fallocate, fsync and flock.
package powerfs
