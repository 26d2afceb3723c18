package powerfs

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/orrery-log/orrery/interop/process"
)

// mounted gives a mounted file system and its folder.
func mounted(t *testing.T) (f *FS, dir string) {
	t.Helper()
	if err := Available(); err != nil {
		process.Skip(t, "%v", err)
	}
	f, dir = New(), t.TempDir()
	require.NoError(t, f.Mount(dir))
	t.Cleanup(func() { require.NoError(t, f.Unmount()) })
	return f, dir
}

func syncDir(t *testing.T, dir string) {
	t.Helper()
	d, err := os.Open(dir)
	require.NoError(t, err)
	require.NoError(t, d.Sync())
	require.NoError(t, d.Close())
}

// put writes a file and syncs its bytes, not its name.
func put(t *testing.T, path, text string) {
	t.Helper()
	file, err := os.Create(path)
	require.NoError(t, err)
	_, err = file.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, file.Sync())
	require.NoError(t, file.Close())
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

func TestWhatWasSyncedSurvivesAndTheRestGoesInEveryWay(t *testing.T) {
	f, dir := mounted(t)
	seen := map[string]int{}
	path := filepath.Join(dir, "journal")
	safe := bytes.Repeat([]byte("S"), 10_000)
	for seed := range uint64(80) {
		file, err := os.Create(path)
		require.NoError(t, err)
		_, err = file.Write(safe)
		require.NoError(t, err)
		require.NoError(t, file.Sync())
		syncDir(t, dir)
		_, err = file.Write(bytes.Repeat([]byte("u"), 20_000))
		require.NoError(t, err)
		require.NoError(t, file.Close())
		_, err = f.PowerCut(seed)
		require.NoError(t, err)

		got := []byte(read(t, path))
		require.GreaterOrEqual(t, len(got), len(safe))
		require.Equal(t, safe, got[:len(safe)], "synced bytes changed")
		switch rest := got[len(safe):]; {
		case len(rest) == 0:
			seen["all lost"]++
		case len(rest) == 20_000 && !bytes.Contains(rest, []byte{0}):
			seen["all kept"]++
		case !bytes.Contains(rest, []byte{'u'}):
			seen["only the size kept"]++
		case bytes.Contains(bytes.TrimRight(rest, "\x00"), []byte{0}):
			seen["holes"]++
		case rest[len(rest)-1] == 0:
			seen["zeros at the end"]++
		default:
			seen["a prefix"]++
		}
		if rest := got[len(safe):]; len(rest) > 0 && len(rest) < 20_000 && len(rest)%pageSize != (pageSize-len(safe)%pageSize)%pageSize {
			seen["a size within a page"]++
		}
		require.NoError(t, os.Remove(path))
		syncDir(t, dir)
	}
	for _, fate := range []string{"all lost", "all kept", "only the size kept", "holes", "zeros at the end", "a prefix", "a size within a page"} {
		require.NotZero(t, seen[fate], "never: %s (%v)", fate, seen)
	}
}

func TestTornPagesHoldBothOldAndNew(t *testing.T) {
	f, dir := mounted(t)
	path := filepath.Join(dir, "f")
	torn := 0
	for seed := range uint64(60) {
		put(t, path, string(bytes.Repeat([]byte("o"), pageSize)))
		syncDir(t, dir)
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		require.NoError(t, err)
		_, err = file.Write(bytes.Repeat([]byte("n"), pageSize))
		require.NoError(t, err)
		require.NoError(t, file.Close())
		_, err = f.PowerCut(seed)
		require.NoError(t, err)
		got := read(t, path)
		require.Len(t, got, pageSize)
		if bytes.Contains([]byte(got), []byte("on")) || bytes.Contains([]byte(got), []byte("no")) {
			torn++
		}
	}
	require.NotZero(t, torn)
}

func TestANameNeedsAnFsyncOfItsDirectory(t *testing.T) {
	f, dir := mounted(t)
	lost, kept := 0, 0
	for seed := range uint64(40) {
		put(t, filepath.Join(dir, "f"), "synced bytes, unsynced name")
		_, err := f.PowerCut(seed)
		require.NoError(t, err)
		if b, err := os.ReadFile(filepath.Join(dir, "f")); err == nil {
			require.Equal(t, "synced bytes, unsynced name", string(b))
			kept++
			require.NoError(t, os.Remove(filepath.Join(dir, "f")))
			syncDir(t, dir)
		} else {
			require.ErrorIs(t, err, os.ErrNotExist)
			lost++
		}
	}
	require.NotZero(t, lost)
	require.NotZero(t, kept)
}

func TestAnFsyncOfADirectoryCoversNothingAboveOrBelowIt(t *testing.T) {
	f, dir := mounted(t)
	above, below := 0, 0
	for seed := range uint64(40) {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755))
		put(t, filepath.Join(dir, "a", "b", "f"), "x")
		syncDir(t, filepath.Join(dir, "a"))
		_, err := f.PowerCut(seed)
		require.NoError(t, err)
		if _, err := os.Stat(filepath.Join(dir, "a")); err != nil {
			above++
		} else if _, err := os.Stat(filepath.Join(dir, "a", "b")); err != nil {
			require.Fail(t, "the name that was synced is gone")
		} else if _, err := os.Stat(filepath.Join(dir, "a", "b", "f")); err != nil {
			below++
		}
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "a")))
		syncDir(t, dir)
	}
	require.NotZero(t, above)
	require.NotZero(t, below)
}

func TestARenameHappensWholeOrNotAtAll(t *testing.T) {
	f, dir := mounted(t)
	before, after := 0, 0
	for seed := range uint64(40) {
		put(t, filepath.Join(dir, "f"), "old")
		put(t, filepath.Join(dir, "f.TEMP"), "new")
		syncDir(t, dir)
		require.NoError(t, os.Rename(filepath.Join(dir, "f.TEMP"), filepath.Join(dir, "f")))
		_, err := f.PowerCut(seed)
		require.NoError(t, err)
		switch read(t, filepath.Join(dir, "f")) {
		case "old":
			require.Equal(t, "new", read(t, filepath.Join(dir, "f.TEMP")))
			before++
		case "new":
			require.NoFileExists(t, filepath.Join(dir, "f.TEMP"))
			after++
		default:
			require.Fail(t, "neither")
		}
	}
	require.NotZero(t, before)
	require.NotZero(t, after)

	put(t, filepath.Join(dir, "g.TEMP"), "new")
	require.NoError(t, os.Rename(filepath.Join(dir, "g.TEMP"), filepath.Join(dir, "g")))
	syncDir(t, dir)
	for seed := range uint64(10) {
		_, err := f.PowerCut(seed)
		require.NoError(t, err)
		require.Equal(t, "new", read(t, filepath.Join(dir, "g")))
	}
}

func TestRemovalsAndTruncationsMayBeUndone(t *testing.T) {
	f, dir := mounted(t)
	back, undone := 0, 0
	for seed := range uint64(40) {
		put(t, filepath.Join(dir, "removed"), "here")
		put(t, filepath.Join(dir, "cut"), string(bytes.Repeat([]byte("c"), 9000)))
		syncDir(t, dir)
		require.NoError(t, os.Remove(filepath.Join(dir, "removed")))
		require.NoError(t, os.Truncate(filepath.Join(dir, "cut"), 100))
		_, err := f.PowerCut(seed)
		require.NoError(t, err)
		if b, err := os.ReadFile(filepath.Join(dir, "removed")); err == nil {
			require.Equal(t, "here", string(b))
			back++
		}
		got := read(t, filepath.Join(dir, "cut"))
		require.Contains(t, []int{100, 9000}, len(got))
		require.Equal(t, string(bytes.Repeat([]byte("c"), 100)), got[:100])
		if len(got) == 9000 {
			undone++
		}
	}
	require.NotZero(t, back)
	require.NotZero(t, undone)
}

func TestTheSameSeedLeavesTheSame(t *testing.T) {
	left := func() map[string]string {
		f, dir := mounted(t)
		for _, name := range []string{"a", "b", "c", "d"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), bytes.Repeat([]byte(name), 50_000), 0o644))
		}
		_, err := f.PowerCut(7)
		require.NoError(t, err)
		out := map[string]string{}
		for _, path := range f.Files() {
			data, dirty, err := f.Bytes(path)
			require.NoError(t, err)
			require.Zero(t, dirty)
			out[path] = string(data)
		}
		return out
	}
	require.Equal(t, left(), left())
}

func TestAfterAFailedFsyncTheRangeIsGoneAndTheNextSucceeds(t *testing.T) {
	f, dir := mounted(t)
	path := filepath.Join(dir, "f")
	put(t, path, "old")
	syncDir(t, dir)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = file.WriteString("new, and longer")
	require.NoError(t, err)
	failing := f.Fail(OpSync, "f", 1, 1, syscall.EIO)
	require.ErrorIs(t, file.Sync(), syscall.EIO)
	require.Equal(t, 1, failing.Count())
	require.NoError(t, file.Sync(), "the kernel has nothing to write any more")
	require.NoError(t, file.Close())
	require.NoError(t, f.Remount())
	require.Equal(t, "old"+string(make([]byte, 12)), read(t, path))
}

func TestTheNthRequestUnderAPathFails(t *testing.T) {
	f, dir := mounted(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "journal"), 0o755))
	file, err := os.Create(filepath.Join(dir, "journal", "x"))
	require.NoError(t, err)
	defer file.Close()
	f.Fail(OpWrite, "journal/", 2, 1, syscall.EIO)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "elsewhere"), []byte("x"), 0o644))
	_, err = file.Write([]byte("1"))
	require.NoError(t, err)
	_, err = file.Write([]byte("2"))
	require.ErrorIs(t, err, syscall.EIO)
	_, err = file.Write([]byte("3"))
	require.NoError(t, err)
	f.Fail(OpName, "journal/y", 1, 1, syscall.EIO)
	_, err = os.Create(filepath.Join(dir, "journal", "y"))
	require.ErrorIs(t, err, syscall.EIO)
	f.Fail(OpSyncDir, "journal", 1, 1, syscall.EIO)
	d, err := os.Open(filepath.Join(dir, "journal"))
	require.NoError(t, err)
	require.ErrorIs(t, d.Sync(), syscall.EIO)
	require.NoError(t, d.Close())
}

func TestAFullDiskSaysSoAndTakesAgainWhenThereIsRoom(t *testing.T) {
	f, dir := mounted(t)
	file, err := os.Create(filepath.Join(dir, "f"))
	require.NoError(t, err)
	f.Free(1 << 20)
	var s unix.Statfs_t
	require.NoError(t, unix.Statfs(dir, &s))
	require.EqualValues(t, 1<<20, s.Bavail*uint64(s.Bsize))
	n, err := file.Write(make([]byte, 2<<20))
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Equal(t, 1<<20, n)
	require.NoError(t, unix.Statfs(dir, &s))
	require.Zero(t, s.Bavail)

	// A file that is open holds its room though its name is gone.
	require.NoError(t, os.Remove(filepath.Join(dir, "f")))
	require.NoError(t, unix.Statfs(dir, &s))
	require.Zero(t, s.Bavail)
	got := make([]byte, 3)
	_, err = file.ReadAt(got, 0)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.Eventually(t, func() bool {
		require.NoError(t, unix.Statfs(dir, &s))
		return s.Bavail*uint64(s.Bsize) == 1<<20
	}, 5*time.Second, time.Millisecond, "the kernel tells of a close a little later")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "g"), make([]byte, 1<<19), 0o644))
}

func TestAHungFsyncHoldsItsCallerAndNobodyElse(t *testing.T) {
	f, dir := mounted(t)
	put(t, filepath.Join(dir, "other"), "x")
	file, err := os.Create(filepath.Join(dir, "f"))
	require.NoError(t, err)
	hang := f.Hang(OpSync, "f", 1)
	done := make(chan error, 1)
	go func() { done <- file.Sync() }()
	<-hang.Met()
	put(t, filepath.Join(dir, "other"), "y")
	require.Equal(t, "y", read(t, filepath.Join(dir, "other")))
	select {
	case <-done:
		require.Fail(t, "a hung disk answered")
	default:
	}
	hang.End()
	require.NoError(t, <-done)
	require.NoError(t, file.Close())
}

func TestNothingTakesEffectWhenThePowerIsOff(t *testing.T) {
	f, dir := mounted(t)
	file, err := os.Create(filepath.Join(dir, "f"))
	require.NoError(t, err)
	syncDir(t, dir)
	_, err = file.WriteString("written, and an fsync is under way")
	require.NoError(t, err)
	hang := f.Hang(OpSync, "f", 1)
	done := make(chan error, 1)
	go func() { done <- file.Sync() }()
	<-hang.Met()
	f.PowerOff(func() {
		select {
		case <-done:
			require.Fail(t, "an fsync was answered after the power went")
		default:
		}
	})
	require.ErrorIs(t, <-done, syscall.EIO)
	_, dirty, err := f.Bytes("f")
	require.NoError(t, err)
	require.NotZero(t, dirty, "the fsync must not have reached the medium")
	require.NoError(t, file.Close())
	_, err = f.PowerOn(1)
	require.NoError(t, err)
}

func TestBitsFlipOnTheMedium(t *testing.T) {
	f, dir := mounted(t)
	put(t, filepath.Join(dir, "f"), "abc")
	syncDir(t, dir)
	require.NoError(t, f.Remount())
	require.NoError(t, f.Flip("f", 1, 0x20))
	require.Error(t, f.Flip("f", 3, 1))
	require.Equal(t, "aBc", read(t, filepath.Join(dir, "f")))
	_, err := f.PowerCut(1)
	require.NoError(t, err)
	require.Equal(t, "aBc", read(t, filepath.Join(dir, "f")))
}

func TestAnImageComesBackAsItWas(t *testing.T) {
	f, dir := mounted(t)
	path := filepath.Join(dir, "sub", "f")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	put(t, path, "synced")
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString(", not synced")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	image := f.Image()
	for range 2 {
		require.NoError(t, os.WriteFile(path, []byte("other"), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "new"), nil, 0o644))
		require.NoError(t, f.Restore(image))
		require.Equal(t, "synced, not synced", read(t, path))
		require.Equal(t, []string{"sub/f"}, f.Files())
		require.NoError(t, f.Remount())
		require.NoError(t, f.Flip("sub/f", 0, 0x20))
		require.Equal(t, "Synced, not synced", read(t, path))
	}
	_, err = f.PowerCut(3)
	require.NoError(t, err)
	require.Equal(t, "Synced, not synced", read(t, path))
}

func TestALockEndsWithItsHolder(t *testing.T) {
	_, dir := mounted(t)
	path := filepath.Join(dir, "lock")
	a, err := os.Create(path)
	require.NoError(t, err)
	b, err := os.Open(path)
	require.NoError(t, err)
	require.NoError(t, unix.Flock(int(a.Fd()), unix.LOCK_EX|unix.LOCK_NB))
	require.ErrorIs(t, unix.Flock(int(b.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
	require.NoError(t, a.Close())
	require.Eventually(t, func() bool { return unix.Flock(int(b.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }, 5*time.Second, time.Millisecond)
	require.NoError(t, b.Close())
}

func TestFilesBehaveAsOnAnyDisk(t *testing.T) {
	f, dir := mounted(t)
	path := filepath.Join(dir, "sub", "f")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("one"), 0o640))
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString("two")
	require.NoError(t, err)
	require.NoError(t, file.Truncate(5))
	_, err = file.WriteString("!")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.Equal(t, "onetw!", read(t, path))
	_, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	require.ErrorIs(t, err, os.ErrExist)
	require.Error(t, os.Remove(filepath.Dir(path)), "a folder that is not empty")
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.EqualValues(t, 6, st.Size())
	require.Equal(t, os.FileMode(0o640), st.Mode())
	for i := range 500 {
		put(t, filepath.Join(dir, "sub", "name-that-is-long-enough-for-many-pieces-"+string(rune('a'+i%26))+string(rune('a'+i/26))), "")
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 501)
	require.Len(t, f.Files(), 501)
	require.NoError(t, os.RemoveAll(filepath.Dir(path)))
	require.Empty(t, f.Files())

	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "big"), big, 0o644))
	require.NoError(t, f.Remount())
	require.Equal(t, string(big), read(t, filepath.Join(dir, "big")))
}
