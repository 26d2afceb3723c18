package disk

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
)

// craft writes journals frame by frame, as a life before might have left them.
type craft struct {
	t           testing.TB
	dir         string // the data directory
	file        uint64
	head        frameHead
	list        logList
	frame       []crafted
	syncs, cuts []env.Seq // of each frame, where the test needs them
}

// crafted is where a frame stands, its length prefix included.
type crafted struct {
	path     string
	pos, end int
	entries  []env.Entry
}

func newCraft(t testing.TB) *craft {
	c := &craft{t: t, dir: quickDir(t), head: frameHead{journal: 77, first: 1}}
	require.NoError(t, format(c.dir, c.head.journal))
	c.roll()
	return c
}

// roll goes on in a new file.
func (c *craft) roll() {
	c.file = c.head.index + 1
	require.NoError(c.t, os.WriteFile(c.path(), nil, 0o600))
}

func (c *craft) path() string { return filepath.Join(c.dir, journalDir, journalName(c.file)) }

// add writes a frame of one entry for each of logs, which names what is synced.
func (c *craft) add(synced, cut env.Seq, logs ...byte) []env.Entry {
	var entries []env.Entry
	for i, n := range logs {
		entries = append(entries, entry(c.head.first+env.Seq(i), n, 100))
	}
	c.head.index++
	c.head.synced, c.head.cut, c.head.logs = synced, cut, c.list.logs
	data, crc := appendFrame(nil, c.head, entries)
	c.head.before = crc
	c.head.first += env.Seq(len(entries))
	c.list = logList{}
	for _, e := range entries {
		c.list.note(e.Log, e.Seq)
	}
	data = append(binary.AppendUvarint(nil, uint64(len(data))), data...)
	old, err := os.ReadFile(c.path())
	require.NoError(c.t, err)
	require.NoError(c.t, os.WriteFile(c.path(), append(old, data...), 0o600))
	c.frame = append(c.frame, crafted{c.path(), len(old), len(old) + len(data), entries})
	return entries
}

// hurt changes bytes of the n-th frame (from 0), from at on (negative: from its end).
func (c *craft) hurt(n, at, size int) {
	f := c.frame[n]
	if at < 0 {
		at += f.end
	} else {
		at += f.pos
	}
	data, err := os.ReadFile(f.path)
	require.NoError(c.t, err)
	for i := range size {
		data[at+i] ^= 0x55
	}
	require.NoError(c.t, os.WriteFile(f.path, data, 0o600))
}

// zero fills the n-th frame with zeros.
func (c *craft) zero(n int) {
	f := c.frame[n]
	data, err := os.ReadFile(f.path)
	require.NoError(c.t, err)
	clear(data[f.pos:f.end])
	require.NoError(c.t, os.WriteFile(f.path, data, 0o600))
}

// open starts a disk on it that writes nothing unasked.
func (c *craft) open() *rig {
	return newRig(c.t, Options{Dir: c.dir, SealAfter: time.Hour})
}

func seqs(entries []env.Entry) (s []int) {
	for _, e := range entries {
		s = append(s, int(e.Seq))
	}
	return s
}

const (
	headerByte  = 30  // in a frame's header
	payloadByte = -20 // from the frame's end: in its last entry's payload
)

// quickDir is a directory in memory if there is such a thing, for the many tests
// that need files and no medium.
func quickDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "orrery-disk")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func copyDir(t testing.TB, from string) string {
	to := quickDir(t)
	require.NoError(t, os.CopyFS(to, os.DirFS(from)))
	return to
}
