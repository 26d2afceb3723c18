package log

import (
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/journal"
)

// testDisk is a disk as bad as it may be: everything it was asked to do happens
// late, in any order, and after a crash any part of what was not synced is gone.
type testDisk struct {
	t               *rapid.T
	entries         []env.Entry
	written, synced env.Seq
	cuts            []env.Seq
	files           map[env.SegmentID]*testFile
	order           []env.SegmentID // of files, for drawing
	used            map[env.SegmentID]bool
	dropping        []env.SegmentID
	spoiled         map[int64]bool // base offsets of records some entry of which was damaged
}

type testFile struct {
	data            []byte // as asked
	written, synced int64
	sealed          bool
}

func newTestDisk(t *rapid.T) *testDisk {
	return &testDisk{t: t, files: map[env.SegmentID]*testFile{}, used: map[env.SegmentID]bool{}, spoiled: map[int64]bool{}}
}

// act takes an Outbox over.
func (d *testDisk) act(out *env.Outbox) {
	for _, e := range out.Journal {
		e.Header, e.Payload = slices.Clone(e.Header), slices.Clone(e.Payload)
		d.entries = append(d.entries, e)
	}
	for _, c := range out.Cuts {
		require.LessOrEqual(d.t, c, d.synced+1)
		d.cuts = append(d.cuts, c)
	}
	for _, tr := range out.Trims {
		f := d.files[tr.Segment]
		if f == nil {
			require.Zero(d.t, tr.End, "trim of a file that is not there")
			f = d.create(tr.Segment)
		}
		require.GreaterOrEqual(d.t, int64(len(f.data)), tr.End)
		*f = testFile{data: slices.Clone(f.data[:tr.End]), written: tr.End, synced: tr.End}
	}
	for _, st := range out.Stores {
		f := d.files[st.Segment]
		if f == nil {
			require.False(d.t, d.used[st.Segment], "segment %v is used twice", st.Segment)
			require.LessOrEqual(d.t, env.Seq(st.Segment.Gen), d.synced, "stored before its opening is synced")
			f = d.create(st.Segment)
		}
		require.False(d.t, f.sealed)
		require.EqualValues(d.t, len(f.data), st.At)
		for _, p := range st.Data {
			f.data = append(f.data, p...)
		}
		f.sealed = st.Seal
	}
	for _, id := range out.Drops {
		require.Contains(d.t, d.files, id)
		f := d.files[id]
		require.EqualValues(d.t, len(f.data), f.written, "dropped with a store outstanding")
		d.dropping = append(d.dropping, id)
	}
	out.Reset()
}

func (d *testDisk) create(id env.SegmentID) *testFile {
	f := &testFile{}
	d.files[id], d.used[id] = f, true
	d.order = append(d.order, id)
	return f
}

func (d *testDisk) last() env.Seq {
	if n := len(d.entries); n > 0 {
		return d.entries[n-1].Seq
	}
	return 0
}

// journaled draws progress of the journal.
func (d *testDisk) journaled() env.Journaled {
	d.written = env.Seq(rapid.Uint64Range(uint64(d.written), uint64(max(d.last(), d.written))).Draw(d.t, "written"))
	d.synced = env.Seq(rapid.Uint64Range(uint64(d.synced), uint64(d.written)).Draw(d.t, "synced"))
	return env.Journaled{Written: d.written, Synced: d.synced}
}

// stored draws progress of one segment file; not ok: there is none.
func (d *testDisk) stored() (env.Stored, bool) {
	if len(d.order) == 0 {
		return env.Stored{}, false
	}
	id := rapid.SampledFrom(d.order).Draw(d.t, "file")
	f := d.files[id]
	if f == nil {
		return env.Stored{}, false
	}
	f.written = rapid.Int64Range(f.written, int64(len(f.data))).Draw(d.t, "file written")
	f.synced = rapid.Int64Range(f.synced, f.written).Draw(d.t, "file synced")
	return env.Stored{Segment: id, Written: f.written, Synced: f.synced}, true
}

func (d *testDisk) read(p Plan) []byte {
	f := d.files[p.Segment]
	require.NotNil(d.t, f, "read of a segment that is not there: %+v", p)
	require.LessOrEqual(d.t, p.At+int64(p.MaxBytes), f.written, "read of bytes that are not written")
	return slices.Clone(f.data[p.At : p.At+int64(p.MaxBytes)])
}

// crash keeps what must survive and any part of the rest.
func (d *testDisk) crash() {
	keep := env.Seq(rapid.Uint64Range(uint64(d.synced), uint64(max(d.last(), d.synced))).Draw(d.t, "survives"))
	cut := env.Seq(0)
	if len(d.cuts) > 0 {
		cut = env.Seq(rapid.Uint64Range(0, uint64(d.cuts[len(d.cuts)-1])).Draw(d.t, "cut"))
	}
	d.entries = slices.DeleteFunc(d.entries, func(e env.Entry) bool { return e.Seq > keep || e.Seq < cut })
	d.written, d.synced, d.cuts = keep, keep, nil
	for _, id := range d.dropping {
		if rapid.Bool().Draw(d.t, "dropped") {
			delete(d.files, id)
		}
	}
	d.dropping = nil
	for _, id := range d.order {
		f := d.files[id]
		if f == nil {
			continue
		}
		size := rapid.Int64Range(f.synced, int64(len(f.data))).Draw(d.t, "file survives")
		f.data = f.data[:size]
		if size > f.synced && rapid.Bool().Draw(d.t, "torn") {
			clear(f.data[f.synced:])
		}
		if size == 0 && rapid.Bool().Draw(d.t, "file lost") {
			delete(d.files, id)
			delete(d.used, id) // nothing of it was ever seen
		}
		f.written, f.synced, f.sealed = size, size, false
	}
	d.order = slices.DeleteFunc(d.order, func(id env.SegmentID) bool { return d.files[id] == nil })
}

// damage spoils the payloads of some entries of records.
func (d *testDisk) damage() {
	for i := range d.entries {
		e := &d.entries[i]
		if kind, r, _ := journal.Parse(e.Header); kind == journal.KindRecords && rapid.IntRange(0, 15).Draw(d.t, "spoil") == 0 {
			h, ok := journal.ParseRecords(r)
			require.True(d.t, ok)
			e.Payload, e.Damaged = nil, true
			d.spoiled[h.Base] = true
		}
	}
}

// recover builds the log again, with Stores between the pieces.
func (d *testDisk) recover(id env.LogID, s Settings, lim env.Limits, now env.Now) (*Log, journal.Journal) {
	j := journal.New(d.synced + 1)
	if len(d.entries) > 0 {
		j = journal.New(d.entries[0].Seq)
		for i := range d.entries {
			j.Survived(&d.entries[i])
		}
	}
	j.Skip(d.synced)
	l := Begin(id, lim)
	for i := len(d.entries) - 1; i >= 0; i-- {
		if e := &d.entries[i]; e.Checkpoint {
			var ok bool
			l, ok = Restore(id, e.Header, e.Seq, lim)
			require.True(d.t, ok)
			break
		}
	}
	for _, seg := range d.order {
		l.Found(env.SegmentInfo{ID: seg, Size: int64(len(d.files[seg].data))})
	}
	out := &env.Outbox{}
	l.Trim(out)
	trims := slices.Clone(out.Trims)
	d.act(out)
	confirm := func() {
		for _, tr := range trims {
			f := d.files[tr.Segment]
			l.Stored(&j, out, now, env.Stored{Segment: tr.Segment, Written: f.written, Synced: f.synced})
		}
		trims = trims[:0]
		d.act(out)
	}
	early := rapid.Bool().Draw(d.t, "trims confirmed early")
	for _, e := range d.entries {
		l.Replay(out, e)
		trims = append(trims, out.Trims...)
		require.Empty(d.t, out.Journal)
		require.Empty(d.t, out.Drops)
		d.act(out)
		if early {
			confirm()
		}
		if rapid.IntRange(0, 5).Draw(d.t, "store in recovery") == 0 {
			l.Store(&j, out, now)
			require.Empty(d.t, out.Journal)
			d.act(out)
		}
	}
	confirm()
	require.True(d.t, l.Settled())
	l.Recovered(now)
	l.Apply(s)
	for _, seg := range slices.Clone(d.order) {
		if !l.Owns(seg) {
			delete(d.files, seg)
		}
	}
	d.order = slices.DeleteFunc(d.order, func(id env.SegmentID) bool { return d.files[id] == nil })
	return l, j
}

func (d *testDisk) String() string {
	return fmt.Sprintf("%d entries, written %d, synced %d, %d files", len(d.entries), d.written, d.synced, len(d.files))
}
