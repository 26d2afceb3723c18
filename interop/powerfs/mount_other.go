//go:build !linux

package powerfs

import "errors"

type mount struct{ dir string }

// Available tells why a mount can not work here.
func Available() error { return errors.New("powerfs mounts on Linux only") }

// Mount shows the tree at a directory.
func (f *FS) Mount(string) error { return Available() }

// Unmount takes it away.
func (f *FS) Unmount() error { return nil }
