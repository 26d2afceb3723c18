//go:build linux || darwin

package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// freeSpace is the bytes that dir's file system has for us.
func freeSpace(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// lockFile takes the file for this process alone. Not ok: somebody else has it.
func lockFile(f *os.File) (ok bool, err error) {
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
	case nil:
		return true, nil
	case unix.EWOULDBLOCK:
		return false, nil
	default:
		return false, err
	}
}
