package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropCache takes bytes that are on the medium out of the page cache. Without it
// sustained writes fall to a third once the cache is full.
func dropCache(f *os.File, from, n int64) {
	// Advice: a refusal costs speed only. n 0 means to the end of the file.
	_ = unix.Fadvise(int(f.Fd()), from, n, unix.FADV_DONTNEED)
}

// syncData makes a file's bytes and its size durable.
func syncData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}
