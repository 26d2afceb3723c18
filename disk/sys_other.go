//go:build !linux

package disk

import "os"

// dropCache is advice that only Linux takes.
func dropCache(*os.File, int64, int64) {}

// syncData makes a file's bytes and its size durable: on macOS os.File.Sync
// asks the medium itself (F_FULLFSYNC).
func syncData(f *os.File) error { return f.Sync() }
