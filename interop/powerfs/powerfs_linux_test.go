package powerfs

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/interop/process"
)

// mounted gives a mounted disk and its folder.
func mounted(t *testing.T, d *Disk) (dir string, unmount func()) {
	t.Helper()
	if err := Available(); err != nil {
		process.Skip(t, "%v", err)
	}
	dir = t.TempDir()
	m, err := d.Mount(dir)
	require.NoError(t, err)
	done := false
	unmount = func() {
		if !done {
			done = true
			require.NoError(t, m.Unmount())
		}
	}
	t.Cleanup(unmount)
	return dir, unmount
}

func syncDir(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Open(dir)
	require.NoError(t, err)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
}

func TestWhatWasSyncedSurvivesAndTheRestGoesInEveryWay(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(60) {
		d := New(64 << 20)
		dir, unmount := mounted(t, d)
		path := filepath.Join(dir, "journal")
		f, err := os.Create(path)
		require.NoError(t, err)
		safe := bytes.Repeat([]byte("S"), 10_000)
		_, err = f.Write(safe)
		require.NoError(t, err)
		require.NoError(t, f.Sync())
		syncDir(t, dir)
		_, err = f.Write(bytes.Repeat([]byte("u"), 20_000))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "new"), []byte("n"), 0o644))
		require.NoError(t, os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "renamed")))
		require.NoError(t, f.Close())
		unmount()
		d.PowerLoss(rand.New(rand.NewPCG(seed, 1)))

		got := d.Bytes("/journal")
		require.GreaterOrEqual(t, len(got), len(safe))
		require.Equal(t, safe, got[:len(safe)], "synced bytes changed")
		files := d.Files()
		_, isNew := files["/new"]
		_, isRenamed := files["/renamed"]
		switch {
		case isNew && isRenamed:
			require.Fail(t, "a rename left both names")
		case isNew:
			seen["created"]++
		case isRenamed:
			seen["renamed"]++
		default:
			seen["entry lost"]++
		}
		switch rest := got[len(safe):]; {
		case len(rest) == 0:
			seen["all lost"]++
		case len(rest) == 20_000 && !bytes.Contains(rest, []byte{0}):
			seen["all kept"]++
		case bytes.Contains(rest, []byte{0}):
			seen["holes"]++
		default:
			seen["a prefix"]++
		}
	}
	for _, fate := range []string{"created", "renamed", "entry lost", "all lost", "all kept", "holes", "a prefix"} {
		require.NotZero(t, seen[fate], "in 60 losses of power never: %s (%v)", fate, seen)
	}
}

func TestFaultsReachTheProcess(t *testing.T) {
	d := New(1 << 20)
	dir, _ := mounted(t, d)
	f, err := os.Create(filepath.Join(dir, "f"))
	require.NoError(t, err)
	defer f.Close()

	d.FailSyncs(1)
	require.NoError(t, f.Sync())
	require.ErrorIs(t, f.Sync(), syscall.EIO)
	require.True(t, d.Failed())
	_, err = f.Write([]byte("x"))
	require.ErrorIs(t, err, syscall.EIO, "a dead disk takes no writes")
	d.Heal()

	d.FailWrites(1)
	_, err = f.Write([]byte("x"))
	require.NoError(t, err)
	_, err = f.Write([]byte("y"))
	require.ErrorIs(t, err, syscall.EIO)
	d.Heal()

	_, err = f.Write(make([]byte, 2<<20))
	require.ErrorIs(t, err, syscall.ENOSPC)
	var s syscall.Statfs_t
	require.NoError(t, syscall.Statfs(dir, &s))
	require.LessOrEqual(t, s.Bavail*uint64(s.Bsize), uint64(1<<20))
	d.Resize(8 << 20)
	_, err = f.Write(make([]byte, 2<<20))
	require.NoError(t, err)

	d.Hang()
	done := make(chan error, 1)
	go func() { done <- f.Sync() }()
	select {
	case err := <-done:
		require.Fail(t, "a hung disk answered", "%v", err)
	case <-time.After(50 * time.Millisecond):
	}
	d.Heal()
	require.NoError(t, <-done)
}

func TestBitsFlipWhereTheyAreStored(t *testing.T) {
	d := New(1 << 20)
	dir, unmount := mounted(t, d)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte{0, 0, 0}, 0o644))
	unmount()
	d.Flip("/f", 9)
	require.Equal(t, []byte{0, 2, 0}, d.Bytes("/f"))
}

func TestAppendsTruncationsAndRemovalsAreSeenAsOnAnyDisk(t *testing.T) {
	d := New(8 << 20)
	dir, _ := mounted(t, d)
	path := filepath.Join(dir, "sub", "f")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("one"), 0o644))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.Write([]byte("two"))
	require.NoError(t, err)
	require.NoError(t, f.Truncate(5))
	_, err = f.Write([]byte("!"))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "onetw!", string(b))
	_, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	require.True(t, errors.Is(err, os.ErrExist))
	require.Error(t, os.Remove(filepath.Dir(path)), "a folder that is not empty")
	require.NoError(t, os.Remove(path))
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Empty(t, entries)
}
