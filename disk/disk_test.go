package disk

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
)

// rig drives a Disk as a node would, one call at a time.
type rig struct {
	t    testing.TB
	d    *Disk
	opts Options
	log  *bytes.Buffer

	written, synced env.Seq
	stored          map[env.SegmentID]env.Stored
	loaded          map[env.ReadID]env.Loaded
	next            env.Seq
	found           env.Survived // all pieces of the last start
	pieces          int
}

func newRig(t testing.TB, opts Options) *rig {
	if opts.Dir == "" {
		opts.Dir = quickDir(t)
	}
	if opts.SpaceEvery == 0 {
		opts.SpaceEvery = time.Hour
	}
	r := &rig{t: t, opts: opts}
	r.open()
	t.Cleanup(func() {
		if r.d != nil {
			r.d.Close()
		}
	})
	return r
}

// open starts the disk and takes all pieces of recovery.
func (r *rig) open() {
	r.log = new(bytes.Buffer)
	r.opts.Logger = slog.New(slog.NewTextHandler(r.log, nil))
	d, err := Open(r.opts)
	require.NoError(r.t, err)
	r.d, r.found, r.pieces = d, env.Survived{}, 0
	r.stored, r.loaded = map[env.SegmentID]env.Stored{}, map[env.ReadID]env.Loaded{}
	for !r.found.Last {
		p, err := d.Survived()
		require.NoError(r.t, err)
		r.found.Segments = append(r.found.Segments, p.Segments...)
		r.found.Checkpoints = append(r.found.Checkpoints, p.Checkpoints...)
		r.found.Entries = append(r.found.Entries, p.Entries...)
		r.found.Damage = append(r.found.Damage, p.Damage...)
		r.found.Last = p.Last
		r.pieces++
	}
	r.written, r.synced, r.next = 0, 0, 1
	if n := len(r.found.Entries); n > 0 {
		r.next = r.found.Entries[n-1].Seq + 1
	}
	for _, d := range r.found.Damage {
		r.next = max(r.next, d.Upto) // the Seq of what is lost is not given again
	}
}

func (r *rig) close() {
	require.NoError(r.t, r.d.Close())
	r.d = nil
}

func (r *rig) reopen() {
	r.close()
	r.open()
}

// until takes events until done.
func (r *rig) until(done func() bool) {
	r.t.Helper()
	late := time.NewTimer(20 * time.Second)
	defer late.Stop()
	for !done() {
		select {
		case ev := <-r.d.Events():
			r.take(ev)
		case err := <-r.d.Failed():
			r.t.Fatalf("the disk failed: %v", err)
		case <-late.C:
			r.t.Fatalf("no event comes: written %d, synced %d, stored %v", r.written, r.synced, r.stored)
		}
	}
}

func (r *rig) take(ev env.Event) {
	switch ev := ev.(type) {
	case env.Journaled:
		require.LessOrEqual(r.t, ev.Synced, ev.Written)
		require.GreaterOrEqual(r.t, ev.Written, r.written, "Written falls")
		require.GreaterOrEqual(r.t, ev.Synced, r.synced, "Synced falls")
		r.written, r.synced = ev.Written, ev.Synced
	case env.Stored:
		old := r.stored[ev.Segment]
		require.True(r.t, ev.Synced <= ev.Written && ev.Written >= old.Written && ev.Synced >= old.Synced, "%v after %v", ev, old)
		r.stored[ev.Segment] = ev
	case env.Loaded:
		r.loaded[ev.Read] = ev
	case env.Space:
		require.Positive(r.t, ev.Free)
	default:
		r.t.Fatalf("unknown event %T", ev)
	}
}

// entry is the next entry, of log n, with a payload of size bytes that its Seq determines.
func (r *rig) entry(n byte, size int) env.Entry {
	e := entry(r.next, n, size)
	r.next++
	return e
}

func entry(seq env.Seq, n byte, size int) env.Entry {
	payload := make([]byte, size)
	x := uint64(seq) * 0x9e3779b97f4a7c15
	for i := range payload {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		payload[i] = byte(x)
	}
	return env.Entry{Seq: seq, Log: logID(n), Sync: true, Header: []byte{1, n, byte(seq)}, Payload: payload}
}

func logID(n byte) env.LogID { return env.LogID{Topic: [16]byte{n, 0xaa}, Partition: int32(n)} }

// journal writes entries and waits until they are synced.
func (r *rig) journal(entries ...env.Entry) {
	r.t.Helper()
	r.d.Act(&env.Outbox{Journal: entries})
	r.until(func() bool { return r.synced >= entries[len(entries)-1].Seq })
}

// expect compares what a start handed over with what was written.
func (r *rig) expect(want ...env.Entry) {
	r.t.Helper()
	require.Len(r.t, r.found.Entries, len(want))
	for i := range want {
		require.Equal(r.t, want[i], r.found.Entries[i])
	}
}

func TestWhatIsSyncedIsHandedOverAfterARestart(t *testing.T) {
	r := newRig(t, Options{JournalFileBytes: 10_000, GroupBytes: 2_000})
	require.True(t, r.found.Last)
	require.Empty(t, r.found.Entries)
	var all []env.Entry
	for i := range 60 {
		e := r.entry(byte(i%3), 10+i*17)
		e.Checkpoint = i%7 == 0
		all = append(all, e)
		r.journal(e)
	}
	r.reopen()
	r.expect(all...)
	require.Empty(t, r.found.Damage)
	last := map[env.LogID]env.Entry{}
	for _, e := range all {
		if e.Checkpoint {
			last[e.Log] = e
		}
	}
	require.Len(t, r.found.Checkpoints, len(last))
	for _, e := range r.found.Checkpoints {
		require.Equal(t, last[e.Log], e)
	}
	more := r.entry(5, 100)
	r.journal(more)
	r.reopen()
	r.expect(append(all, more)...)
	require.NotContains(t, r.log.String(), "torn")
}

func segmentID(n byte, base int64) env.SegmentID {
	l := logID(n)
	return env.SegmentID{Topic: l.Topic, Partition: l.Partition, Base: base, Gen: uint64(base) + 7}
}

func TestStoredBytesAreReadBack(t *testing.T) {
	r := newRig(t, Options{})
	id := segmentID(1, 100)
	r.d.Act(&env.Outbox{Stores: []env.Store{{Segment: id, At: 0, Data: [][]byte{[]byte("hello "), []byte("world")}}}})
	r.until(func() bool { return r.stored[id].Written == 11 })
	r.d.Act(&env.Outbox{Reads: []env.Read{{Read: 1, Segment: id, At: 6, MaxBytes: 100}, {Read: 2, Segment: id, At: 0, MaxBytes: 5}, {Read: 3, Segment: id, At: 11, MaxBytes: 5}}})
	r.until(func() bool { return len(r.loaded) == 3 })
	require.Equal(t, "world", string(r.loaded[1].Data))
	require.Equal(t, "hello", string(r.loaded[2].Data))
	require.Empty(t, r.loaded[3].Data)
	r.d.Act(&env.Outbox{Stores: []env.Store{{Segment: id, At: 11, Data: [][]byte{[]byte("!")}, Seal: true}}})
	r.until(func() bool { return r.stored[id].Synced == 12 })
	r.reopen()
	require.Equal(t, []env.SegmentInfo{{ID: id, Size: 12}}, r.found.Segments)
	r.d.Act(&env.Outbox{Trims: []env.Trim{{Segment: id, End: 5}}})
	r.until(func() bool { return r.stored[id].Synced == 5 })
	r.d.Act(&env.Outbox{Stores: []env.Store{{Segment: id, At: 5, Data: [][]byte{[]byte(", you")}, Sync: true}}})
	r.until(func() bool { return r.stored[id].Synced == 10 })
	r.d.Act(&env.Outbox{Reads: []env.Read{{Read: 4, Segment: id, At: 0, MaxBytes: 100}}})
	r.until(func() bool { return r.loaded[4].Data != nil })
	require.Equal(t, "hello, you", string(r.loaded[4].Data))
	r.d.Act(&env.Outbox{Drops: []env.SegmentID{id}})
	r.reopen()
	require.Empty(t, r.found.Segments)
}

func TestFreeSpaceIsTold(t *testing.T) {
	r := newRig(t, Options{})
	free, err := freeSpace(r.opts.Dir)
	require.NoError(t, err)
	for {
		if ev, ok := (<-r.d.Events()).(env.Space); ok {
			require.InEpsilon(t, free, ev.Free, 0.2)
			return
		}
	}
}
