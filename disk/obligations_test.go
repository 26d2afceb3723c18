package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
)

// Obligation 6: a second fsync answers nil, and the pages are gone.
func TestAFailedFsyncIsFinal(t *testing.T) {
	for _, what := range []string{"journal", "segment", "directory"} {
		t.Run(what, func(t *testing.T) {
			boom := errors.New("input/output error")
			var failed, after atomic.Int32
			var armed atomic.Bool
			guard := func(kind string, real func() error) error {
				if kind != what || !armed.Load() {
					return real()
				}
				if failed.Load() > 0 {
					after.Add(1)
				}
				failed.Add(1)
				return boom
			}
			opts := Options{SealAfter: time.Hour, JournalFileBytes: 4000, hooks: hooks{
				sync: func(f *os.File) error {
					kind := "journal"
					if strings.Contains(f.Name(), segmentsDir) {
						kind = "segment"
					}
					return guard(kind, func() error { return syncData(f) })
				},
				syncDir: func(dir string) error { return guard("directory", func() error { return syncDir(dir) }) },
			}}
			r := newRig(t, opts)
			kept := r.entry(1, 100)
			r.journal(kept)
			id := segmentID(1, 0)
			r.d.Act(&env.Outbox{Stores: []env.Store{{Segment: id, Data: [][]byte{make([]byte, 10)}, Sync: true}}})
			r.until(func() bool { return r.stored[id].Synced == 10 })
			armed.Store(true)
			lost := r.entry(1, 5000) // rolls, so that the directory is synced too
			if what == "journal" {
				lost = r.entry(1, 100)
			}
			r.d.Act(&env.Outbox{Journal: []env.Entry{lost}, Stores: []env.Store{{Segment: id, At: 10, Data: [][]byte{make([]byte, 10)}, Sync: true}}})
			err := <-r.d.Failed()
			require.ErrorIs(t, err, boom)
			r.d.Act(&env.Outbox{Journal: []env.Entry{r.entry(1, 100)}, Stores: []env.Store{{Segment: id, At: 20, Data: [][]byte{make([]byte, 10)}, Sync: true}}})
			require.NoError(t, r.d.Close())
			for len(r.d.events) > 0 {
				r.take(<-r.d.events)
			}
			switch what {
			case "segment":
				require.Equal(t, int64(10), r.stored[id].Synced)
			default:
				require.Equal(t, kept.Seq, r.synced)
			}
			require.Equal(t, int32(1), failed.Load())
			require.Zero(t, after.Load())
			armed.Store(false)
			r.open()
			require.Equal(t, kept, r.found.Entries[0])
		})
	}
}

// An fsync that fails while a frame comes that fills the file: the library's own
// fsync, before it leaves the file, would find the lost pages clean.
func TestAFileIsNotLeftWhileAnFsyncOfItIsUnderWay(t *testing.T) {
	boom := errors.New("input/output error")
	var armed, left atomic.Bool
	under, answer := make(chan struct{}), make(chan struct{})
	let := sync.OnceFunc(func() { close(answer) })
	r := newRig(t, Options{SealAfter: time.Hour, JournalFileBytes: 4000, GroupBytes: 1000, hooks: hooks{
		sync: func(f *os.File) error {
			if !armed.Load() {
				return syncData(f)
			}
			close(under)
			<-answer
			return boom
		},
		syncDir: func(dir string) error {
			left.Store(left.Load() || armed.Load())
			return syncDir(dir)
		},
	}})
	t.Cleanup(let) // before the disk is closed, which waits for it
	kept := r.entry(1, 100)
	r.journal(kept)
	armed.Store(true)
	r.d.Act(&env.Outbox{Journal: []env.Entry{r.entry(1, 100)}})
	<-under
	r.d.Act(&env.Outbox{Journal: []env.Entry{r.entry(1, 5000)}})
	require.Never(t, left.Load, 50*time.Millisecond, time.Millisecond, "the file was left")
	let()
	require.ErrorIs(t, <-r.d.Failed(), boom)
	require.NoError(t, r.d.Close())
	for len(r.d.events) > 0 {
		r.take(<-r.d.events)
	}
	require.Equal(t, kept.Seq, r.synced)
	require.False(t, left.Load())
	r.d = nil
}

// Obligation 6, at the next start: what is kept is written anew, because an fsync
// of pages that are clean writes nothing.
func TestAStartWritesTheTailAnew(t *testing.T) {
	r := newRig(t, Options{SealAfter: time.Hour})
	r.journal(r.entry(1, 100))
	copied := copyDir(t, r.opts.Dir)
	path := filepath.Join(copied, journalDir, journalName(1))
	before, err := os.Stat(path)
	require.NoError(t, err)
	newRig(t, Options{Dir: copied})
	after, err := os.Stat(path)
	require.NoError(t, err)
	require.False(t, os.SameFile(before, after))
	require.Equal(t, before.Size(), after.Size())
}

// Obligation 8: the library syncs no directory.
func TestSyncedWaitsForTheNameOfANewFile(t *testing.T) {
	var mu sync.Mutex
	named := map[string]bool{} // files whose names are durable
	note := func(dir string) {
		entries, _ := os.ReadDir(dir)
		mu.Lock()
		defer mu.Unlock()
		for _, e := range entries {
			named[filepath.Join(dir, e.Name())] = true
		}
	}
	opts := Options{JournalFileBytes: 3000, hooks: hooks{syncDir: func(dir string) error {
		note(dir)
		return syncDir(dir)
	}}}
	r := newRig(t, opts)
	note(filepath.Join(r.opts.Dir, journalDir)) // what Open left
	for range 40 {
		r.journal(r.entry(1, 500))
		names, err := filepath.Glob(filepath.Join(r.opts.Dir, journalDir, "*"))
		require.NoError(t, err)
		mu.Lock()
		for _, name := range names {
			st, err := os.Stat(name)
			require.NoError(t, err)
			require.True(t, st.Size() == 0 || named[name], "%s holds what is Synced, and has no durable name", name)
		}
		mu.Unlock()
	}
	id := segmentID(3, 0)
	r.d.Act(&env.Outbox{Stores: []env.Store{{Segment: id, Data: [][]byte{{1}}, Sync: true}}})
	r.until(func() bool { return r.stored[id].Synced == 1 })
	path := segmentPath(filepath.Join(r.opts.Dir, segmentsDir), id)
	for p := path; p != filepath.Join(r.opts.Dir, segmentsDir); p = filepath.Dir(p) {
		require.True(t, named[p], p)
	}
}

// Obligation 9: the library's reads panic beside each other. Ours do not use it.
func TestReadsRunBesideWritesAndEachOther(t *testing.T) {
	r := newRig(t, Options{OpenSegments: 3, Readers: 4})
	const parts, pieces = 8, 30
	for i := range pieces {
		var out env.Outbox
		for n := range byte(parts) {
			out.Journal = append(out.Journal, r.entry(n, 100))
			out.Stores = append(out.Stores, env.Store{Segment: segmentID(n, 0), At: int64(i * 100), Data: [][]byte{entry(env.Seq(i+1), n, 100).Payload}})
			if i > 0 {
				for k := range 3 {
					out.Reads = append(out.Reads, env.Read{Read: env.ReadID(i*1000 + int(n)*10 + k), Segment: segmentID(n, 0), At: int64((i - 1) * 100), MaxBytes: 100})
				}
			}
		}
		r.d.Act(&out)
		r.until(func() bool {
			for n := range byte(parts) {
				if r.stored[segmentID(n, 0)].Written < int64((i+1)*100) {
					return false
				}
			}
			return len(r.loaded) == i*parts*3
		})
	}
	for id, l := range r.loaded {
		require.False(t, l.Damaged)
		require.Equal(t, entry(env.Seq(id/1000), byte(id%1000/10), 100).Payload, l.Data)
	}
	require.Eventually(t, func() bool { return !r.d.handles.full() }, 10*time.Second, time.Millisecond, "descriptors are not given back")
}

// Obligation 10: the library opens a directory twice.
func TestADirectoryIsOpenedOnce(t *testing.T) {
	r := newRig(t, Options{})
	_, err := Open(Options{Dir: r.opts.Dir})
	require.ErrorContains(t, err, fmt.Sprintf("%s is in use by process %d", r.opts.Dir, os.Getpid()))
	r.reopen()
}

// Obligation 11: the library takes what has 20 digits for a segment, and deletes
// files on account of a .START.
func TestStrayFilesAreMovedAsideAndLeftoversRemoved(t *testing.T) {
	r := newRig(t, Options{})
	var all []env.Entry
	for range 3 {
		e := r.entry(1, 50)
		all = append(all, e)
		r.journal(e)
		r.reopen()
	}
	r.close()
	dir := filepath.Join(r.opts.Dir, journalDir)
	strays := []string{"00000000000000000003.START", "00000000000000000002.END", "notes.txt", "00000000000000000000", "99999999999999999999", "0000000000000000000a"}
	for _, name := range append(strays, "00000000000000000009.TEMP") {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("stray"), 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "00000000000000000777"), 0o700))
	r.open()
	r.expect(all...)
	require.Empty(t, r.found.Damage)
	require.DirExists(t, filepath.Join(r.opts.Dir, straysDir, "00000000000000000777"))
	for _, name := range strays {
		require.FileExists(t, filepath.Join(r.opts.Dir, straysDir, name), name)
	}
	require.NoFileExists(t, filepath.Join(dir, "00000000000000000009.TEMP"))
	e := r.entry(1, 50)
	r.journal(e)
	r.reopen()
	r.expect(append(all, e)...)
}

func TestACopyOfAJournalFileUnderAnotherNameAddsNothing(t *testing.T) {
	c := newCraft(t)
	a := c.add(0, 0, 1)
	a = append(a, c.add(1, 0, 2)...)
	data, err := os.ReadFile(c.path())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, journalDir, journalName(2)), data, 0o600))
	r := c.open()
	r.expect(a...)
	require.FileExists(t, filepath.Join(c.dir, straysDir, journalName(2)))
}

// Obligation 11: the first index of an emptied log. All but the file that names the
// cut is unlinked under the open library, and a start finds nothing missing.
func TestACutUnlinksWholeFilesOldestFirst(t *testing.T) {
	r := newRig(t, Options{JournalFileBytes: 3000, SealAfter: 10 * time.Millisecond})
	var all []env.Entry
	for range 40 {
		e := r.entry(1, 500)
		all = append(all, e)
		r.journal(e)
	}
	files := func() []string {
		names, err := filepath.Glob(filepath.Join(r.opts.Dir, journalDir, "*"))
		require.NoError(t, err)
		return names
	}
	before := len(files())
	require.Greater(t, before, 6)
	r.d.Act(&env.Outbox{Cuts: []env.Seq{31}})
	require.Eventually(t, func() bool { return len(files()) < before/2 }, 10*time.Second, time.Millisecond, "a quiet journal is cut too")
	more := r.entry(2, 10)
	r.journal(more)
	r.reopen()
	require.Empty(t, r.found.Damage)
	r.expect(append(all[30:], more)...)
	require.NotContains(t, r.log.String(), "needed=true")

	// A cut that a loss of power undid in part leaves a gap below it: no damage.
	names := files()
	data, err := os.ReadFile(names[0])
	require.NoError(t, err)
	r.close()
	require.NotEmpty(t, data)
	require.NoError(t, os.WriteFile(filepath.Join(r.opts.Dir, journalDir, journalName(1)), nil, 0o600))
	r.open()
	require.Empty(t, r.found.Damage)
	r.expect(append(all[30:], more)...)
}

// Obligation 12: the library leaks a descriptor for each Open that fails.
func TestFailedOpensLeakNoDescriptors(t *testing.T) {
	count := func() int {
		entries, err := os.ReadDir("/dev/fd")
		require.NoError(t, err)
		return len(entries)
	}
	r := newRig(t, Options{})
	r.close()
	bad := copyDir(t, r.opts.Dir)
	require.NoError(t, os.WriteFile(filepath.Join(bad, formatName), []byte("orrery 7\n"), 0o600))
	locked := newRig(t, Options{})
	torn := newCraft(t)
	torn.add(0, 0, 1)
	torn.add(0, 0, 1)
	torn.hurt(1, payloadByte, 1)
	before := count()
	for range 20 {
		_, err := Open(Options{Dir: bad})
		require.ErrorContains(t, err, "has format 7; this orrery reads format 1 only")
		_, err = Open(Options{Dir: locked.opts.Dir})
		require.ErrorContains(t, err, "in use")
		d, err := Open(Options{Dir: torn.dir})
		require.NoError(t, err)
		require.NoError(t, d.Close())
	}
	require.LessOrEqual(t, count(), before+1)
}

func TestADirectoryThatIsNotOursIsRefused(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "thesis.tex"), []byte("x"), 0o600))
	_, err := Open(Options{Dir: dir})
	require.ErrorContains(t, err, `it has "thesis.tex" but no orrery.format`)

	r := newRig(t, Options{})
	r.journal(r.entry(1, 10))
	r.close()
	require.NoError(t, os.Remove(filepath.Join(r.opts.Dir, formatName)))
	_, err = Open(r.opts)
	require.ErrorContains(t, err, "lost its format file")
}

func TestADamagedFormatFileDoesNotMakeAJournalLookTorn(t *testing.T) {
	r := newRig(t, Options{})
	e := r.entry(1, 10)
	r.journal(e)
	r.close()
	path := filepath.Join(r.opts.Dir, formatName)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	data[len(data)-12] ^= 1 // in the number
	require.NoError(t, os.WriteFile(path, data, 0o600))
	r.open()
	r.expect(e)
	r.close()

	other := newRig(t, Options{})
	other.close()
	data, err = os.ReadFile(filepath.Join(other.opts.Dir, formatName))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	_, err = Open(r.opts)
	require.ErrorContains(t, err, "is of another data directory")
}

func TestFactsOutliveTheProcess(t *testing.T) {
	r := newRig(t, Options{})
	require.Empty(t, r.d.Meta())
	require.NoError(t, r.d.SetMeta(map[string]string{"cluster.id": "abc", "node.id": "7"}))
	require.Error(t, r.d.SetMeta(map[string]string{"a=b": "c"}))
	r.reopen()
	require.Equal(t, map[string]string{"cluster.id": "abc", "node.id": "7"}, r.d.Meta())
}

func TestAnAcceptedLossIsANoteForTheNextStart(t *testing.T) {
	r := newRig(t, Options{})
	require.NoError(t, AcceptLoss(r.opts.Dir, logID(3)))
	require.NoError(t, AcceptLoss(r.opts.Dir, logID(2)))
	r.reopen()
	logs, err := r.d.AcceptedLosses()
	require.NoError(t, err)
	require.Equal(t, []env.LogID{logID(2), logID(3)}, logs)
	require.NoError(t, r.d.ForgetAcceptedLosses(logs[:1]))
	logs, err = r.d.AcceptedLosses()
	require.NoError(t, err)
	require.Equal(t, []env.LogID{logID(3)}, logs)
	require.Error(t, AcceptLoss(t.TempDir(), logID(1)))
}

func TestRecoveryComesInBoundedPieces(t *testing.T) {
	r := newRig(t, Options{PieceBytes: 3000})
	var all []env.Entry
	for i := range 50 {
		e := r.entry(byte(i), 500)
		e.Checkpoint = i%2 == 0
		all = append(all, e)
	}
	big := r.entry(60, 20_000)
	all = append(all, big)
	r.journal(all...)
	r.reopen()
	r.expect(all...)
	require.Len(t, r.found.Checkpoints, 25)
	require.Greater(t, r.pieces, 15)
}

func TestEntriesThatNobodyWaitsForAreSyncedUnasked(t *testing.T) {
	r := newRig(t, Options{SyncAge: 20 * time.Millisecond, StoreSyncAge: 20 * time.Millisecond})
	e := r.entry(1, 10)
	e.Sync = false
	id := segmentID(1, 0)
	r.d.Act(&env.Outbox{Journal: []env.Entry{e}, Stores: []env.Store{{Segment: id, Data: [][]byte{{1, 2}}}}})
	r.until(func() bool { return r.written == 1 && r.stored[id].Written == 2 })
	r.until(func() bool { return r.synced == 1 && r.stored[id].Synced == 2 })
}

func TestSegmentsAreSyncedWhenMuchIsUnsynced(t *testing.T) {
	r := newRig(t, Options{StoreSyncAge: time.Hour, StoreSyncBytes: 10_000})
	for n := range byte(10) {
		r.d.Act(&env.Outbox{Stores: []env.Store{{Segment: segmentID(n, 0), Data: [][]byte{make([]byte, 1000)}}}})
	}
	r.until(func() bool {
		for n := range byte(10) {
			if r.stored[segmentID(n, 0)].Synced != 1000 {
				return false
			}
		}
		return true
	})
}

func TestAnEntryLargerThanAJournalFileIsKept(t *testing.T) {
	r := newRig(t, Options{JournalFileBytes: 10_000, GroupBytes: 5_000})
	a, b := r.entry(1, 200_000), r.entry(2, 10)
	r.journal(a, b)
	r.reopen()
	r.expect(a, b)
}

func TestAUnreadableSegmentIsDamage(t *testing.T) {
	r := newRig(t, Options{})
	r.d.Act(&env.Outbox{Reads: []env.Read{{Read: 9, Segment: segmentID(1, 0), MaxBytes: 10}}})
	r.until(func() bool { return r.loaded[9].Read == 9 })
	require.True(t, r.loaded[9].Damaged)
}

func TestASegmentIDIsUsedOnce(t *testing.T) {
	r := newRig(t, Options{})
	id := segmentID(1, 0)
	store := env.Outbox{Stores: []env.Store{{Segment: id, Data: [][]byte{{1}}, Sync: true}}}
	r.d.Act(&store)
	r.until(func() bool { return r.stored[id].Synced == 1 })
	r.reopen()
	r.d.Act(&store)
	require.ErrorIs(t, <-r.d.Failed(), os.ErrExist)
}

func TestATrimNeverLengthensAFile(t *testing.T) {
	r := newRig(t, Options{})
	id := segmentID(1, 0)
	r.d.Act(&env.Outbox{Stores: []env.Store{{Segment: id, Data: [][]byte{{1}}, Sync: true}}})
	r.until(func() bool { return r.stored[id].Synced == 1 })
	r.reopen()
	r.d.Act(&env.Outbox{Trims: []env.Trim{{Segment: id, End: 2}}})
	require.ErrorContains(t, <-r.d.Failed(), "it has only 1")
}

func TestCloseCarriesOutWhatWasAsked(t *testing.T) {
	r := newRig(t, Options{})
	var all []env.Entry
	out := env.Outbox{}
	for range 100 {
		e := r.entry(1, 1000)
		e.Sync = false
		all = append(all, e)
	}
	id := segmentID(1, 0)
	out.Journal = all
	out.Stores = []env.Store{{Segment: id, Data: [][]byte{make([]byte, 3<<20), make([]byte, 100), make([]byte, 300)}}}
	r.d.Act(&out)
	r.reopen()
	r.expect(all...)
	require.Equal(t, []env.SegmentInfo{{ID: id, Size: 3<<20 + 400}}, r.found.Segments)
}

func TestALullIsUsedToSync(t *testing.T) {
	r := newRig(t, Options{SyncAge: time.Hour, SealAfter: time.Hour})
	e := r.entry(1, 10)
	e.Sync = false // as a checkpoint's, for which a full journal may wait
	r.d.Act(&env.Outbox{Journal: []env.Entry{e}})
	r.until(func() bool { return r.synced == 1 })
}
