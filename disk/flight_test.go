package disk

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
)

// manyStores are small stores, each to a new segment of a partition of its own.
func manyStores(n int) []env.Store {
	var all []env.Store
	for i := range n {
		all = append(all, env.Store{Segment: env.SegmentID{Topic: [16]byte{9}, Partition: int32(i), Gen: uint64(i) + 1}, Data: [][]byte{[]byte("a little")}})
	}
	return all
}

func TestManySmallSegmentsAreSyncedTogetherWithTheirNames(t *testing.T) {
	const n = 300
	var mu sync.Mutex
	synced, calls := map[string]bool{}, map[string]int{} // files and directories, by path
	stored := make(chan struct{})                        // no fsync of a segment ends before all are stored
	opts := Options{Dir: t.TempDir(), hooks: hooks{
		sync: func(f *os.File) error {
			if filepath.Base(filepath.Dir(f.Name())) != journalDir {
				<-stored
			}
			err := syncData(f)
			mu.Lock()
			defer mu.Unlock()
			synced[f.Name()] = true
			return err
		},
		syncDir: func(dir string) error {
			err := syncDir(dir)
			mu.Lock()
			defer mu.Unlock()
			synced[dir] = true
			calls[dir]++
			return err
		},
	}}
	r := newRig(t, opts)
	stores := manyStores(n)
	for i := range stores {
		stores[i].Sync = true
	}
	r.d.Act(&env.Outbox{Stores: stores})
	r.until(func() bool { return len(r.stored) == n })
	close(stored)
	root := filepath.Join(opts.Dir, segmentsDir)
	for i := range stores {
		id := stores[i].Segment
		r.until(func() bool { return r.stored[id].Synced == int64(len("a little")) })
		path := segmentPath(root, id)
		mu.Lock()
		for _, what := range []string{path, filepath.Dir(path), filepath.Dir(filepath.Dir(path)), root} {
			require.True(t, synced[what], "%s is told to be synced before %s is", path, what)
		}
		mu.Unlock()
	}
	require.LessOrEqual(t, calls[root], 5, "the root is synced once a flight")
}

func TestSegmentsThatAreNotSyncedHoldFewDescriptors(t *testing.T) {
	const n, open = 200, 8
	r := newRig(t, Options{OpenSegments: open, StoreSyncAge: time.Hour})
	r.d.Act(&env.Outbox{Stores: manyStores(n)})
	most := 0
	r.until(func() bool {
		r.d.handles.mu.Lock()
		most = max(most, len(r.d.handles.byID))
		r.d.handles.mu.Unlock()
		return len(r.stored) == n
	})
	require.LessOrEqual(t, most, open+1)
}

func TestOneFailedFsyncOfManyIsFinal(t *testing.T) {
	broken := errors.New("the medium is gone")
	r := newRig(t, Options{OpenSegments: 8, hooks: hooks{sync: func(f *os.File) error {
		if filepath.Base(filepath.Dir(f.Name())) == "77" {
			return broken
		}
		return syncData(f)
	}}})
	r.d.Act(&env.Outbox{Stores: manyStores(200)})
	for {
		select {
		case ev := <-r.d.Events():
			if s, ok := ev.(env.Stored); ok && s.Segment.Partition == 77 {
				require.Zero(t, s.Synced)
			}
			continue
		case err := <-r.d.Failed():
			require.ErrorIs(t, err, broken)
		case <-time.After(20 * time.Second):
			t.Fatal("the failure is not told")
		}
		break
	}
}

func TestALullIsUsedToSyncSegments(t *testing.T) {
	r := newRig(t, Options{StoreSyncAge: time.Hour})
	stores := manyStores(3)
	r.d.Act(&env.Outbox{Stores: stores})
	for i := range stores {
		r.until(func() bool { return r.stored[stores[i].Segment].Synced > 0 })
	}
}
