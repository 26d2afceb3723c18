package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const (
	dirPerm  = 0o750
	filePerm = 0o640
	tempTail = ".TEMP" // the library's word for a file that is not yet complete; ours too
)

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync directory %s: %w", dir, err)
	}
	return nil
}

// makeDir creates dir and what is missing above it, durably.
func makeDir(dir string) error {
	if st, err := os.Stat(dir); err == nil {
		if !st.IsDir() {
			return fmt.Errorf("%s is not a directory", dir)
		}
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, dirPerm); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

// replaceFile puts a file of these bytes in place of path, whole or not at all, durably.
func replaceFile(path string, data []byte) error {
	temp := path + tempTail
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, filePerm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// readFile reads a file into buf, which grows as needed. Blocks that the medium
// refuses come as zeros, so that a scan finds what is around them.
func readFile(path string, buf []byte) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return buf[:0], err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return buf[:0], err
	}
	if int64(cap(buf)) < st.Size() {
		buf = make([]byte, st.Size())
	}
	buf = buf[:st.Size()]
	n, err := io.ReadFull(f, buf)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return buf[:n], nil
	}
	if errors.Is(err, syscall.EIO) {
		return buf, readAround(f, buf, n)
	}
	return buf, err
}

func readAround(f *os.File, buf []byte, from int) error {
	const block = 4096
	for at := from / block * block; at < len(buf); at += block {
		piece := buf[at:min(at+block, len(buf))]
		if _, err := f.ReadAt(piece, int64(at)); errors.Is(err, syscall.EIO) {
			clear(piece)
		} else if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}

// dropTail flushes a file and takes it out of the page cache.
func dropTail(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	dropCache(f, 0, 0)
	return nil
}
