package powerfs

import (
	"fmt"
	"time"
)

// PowerOff is the moment at which the power goes: no request takes effect after it, and none is answered before kill
// has returned, which must end the process (a signal that it can not catch is enough). Then those that wait fail.
func (f *FS) PowerOff(kill func()) {
	f.mu.Lock()
	close(f.dark)
	ended := f.ended
	f.mu.Unlock()
	kill()
	close(ended)
}

// PowerOn chooses what survived and mounts it again. The process that used it must be gone.
func (f *FS) PowerOn(seed uint64) (Survival, error) {
	if err := f.Unmount(); err != nil {
		return Survival{}, err
	}
	f.Heal()
	f.mu.Lock()
	s := f.settle(seed)
	f.dark, f.ended = make(chan struct{}), make(chan struct{})
	f.mu.Unlock()
	f.closeAll() // counts what is used anew
	return s, f.Mount(f.mount.dir)
}

// PowerCut is both for a tree that nobody uses.
func (f *FS) PowerCut(seed uint64) (Survival, error) {
	f.PowerOff(func() {})
	return f.PowerOn(seed)
}

// Remount lets the kernel forget what it has cached.
func (f *FS) Remount() error {
	if err := f.Unmount(); err != nil {
		return err
	}
	return f.Mount(f.mount.dir)
}

// Files gives the paths of all files, in order.
func (f *FS) Files() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var paths []string
	f.walk(func(path string, n *inode) {
		if !n.dir {
			paths = append(paths, path)
		}
	})
	return paths
}

// Bytes gives what a file holds, and how many of its bytes no fsync covers.
func (f *FS) Bytes(path string) (data []byte, dirty int, err error) {
	f.mu.Lock()
	n := f.find(path)
	if n == nil {
		f.mu.Unlock()
		return nil, 0, fmt.Errorf("powerfs: no file %s", path)
	}
	for i := range n.dirty {
		for _, e := range n.pages[i].dirty {
			dirty += e.hi - e.lo
		}
	}
	size := n.size
	f.mu.Unlock()
	data = make([]byte, size)
	return data[:f.read(n, 0, data)], dirty, nil
}

// Flip turns bits of a byte over, on the medium too. The file must not be open: the kernel would not see it.
func (f *FS) Flip(path string, at int64, bits byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.find(path)
	if n == nil || n.dir || at >= n.size || int(at/pageSize) >= len(n.pages) {
		return fmt.Errorf("powerfs: no byte %d in %s", at, path)
	}
	if n.opens > 0 {
		return fmt.Errorf("powerfs: %s is open", path)
	}
	p := n.pages[at/pageSize]
	if p == nil || p.now == nil {
		return fmt.Errorf("powerfs: byte %d of %s is in a hole", at, path)
	}
	shared := p.now == p.synced
	own := *p.now
	own[at%pageSize] ^= bits
	p.now = &own
	if shared {
		p.synced = p.now
	}
	return nil
}

func (f *FS) find(path string) *inode {
	var found *inode
	f.walk(func(p string, n *inode) {
		if p == path {
			found = n
		}
	})
	return found
}

// unmountTries bounds how long a file that the kernel still closes may hold a mount.
const unmountTries = 200

func retry(unmount func() error) error {
	var err error
	for range unmountTries {
		if err = unmount(); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("powerfs: unmount: %w", err)
}
