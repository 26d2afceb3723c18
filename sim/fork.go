package sim

import (
	"fmt"
	"slices"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/journal"
)

// fork is a broker apart from the run, on a disk where everything happens at
// once and nothing fails. O6 uses two of them: one goes on from the live broker,
// the other starts from what the first has on its disk.
type fork struct {
	m       machine
	kit     *Kit
	now     env.Now
	journal []env.Entry
	files   map[env.SegmentID][]byte
	names   []env.SegmentID
	pieces  []env.Survived
	events  []env.Event
	out     env.Outbox
	ready   bool
	asked   uint64
	name    string // live or restarted
	notes   []string
	why     string // what the last Fetch came to
	answers map[uint64]env.Reply
}

// forkConn is the connection on which forks are asked.
const forkConn = env.ConnID(1 << 60)

// forkLive copies the live broker and its disk and lets everything that is under
// way come to its end.
func (w *world) forkLive() (*fork, error) {
	m, err := w.kit.Copy(w.m)
	if err != nil {
		return nil, err
	}
	f := &fork{name: "live", m: m, kit: &w.kit, now: w.clock(), files: map[env.SegmentID][]byte{}, answers: map[uint64]env.Reply{}, ready: true}
	d := w.disk
	for i := range d.journal.entries {
		f.journal = append(f.journal, copyEntry(d.journal.entries[i]))
	}
	for _, id := range w.net.ids() {
		if w.net.links[id].served {
			f.events = append(f.events, env.Hangup{Conn: id})
		}
	}
	if last := d.last(); d.journal.told.Synced < last {
		f.events = append(f.events, env.Journaled{Written: last, Synced: last})
	}
	for _, id := range d.names {
		file := d.files[id]
		data := slices.Clone(file.data)
		for _, op := range file.pending {
			data = write(data, &op.store)
		}
		f.files[id] = data
		f.names = append(f.names, id)
		if end := int64(len(data)); file.told.Synced < end && (file.seal >= 0 || file.touched > 0) {
			f.events = append(f.events, env.Stored{Segment: id, Written: end, Synced: end})
		}
	}
	for _, id := range sortedKeys(d.reads) {
		f.load(d.reads[id].read)
	}
	for _, id := range sortedKeys(w.jobs) {
		f.events = append(f.events, w.jobs[id])
	}
	if restless := f.run(); restless != "" {
		w.fail(stuck, "the live broker does not come to rest: %s", restless)
	}
	return f, nil
}

// write puts a Store's bytes at their place.
func write(data []byte, s *env.Store) []byte {
	at := s.At
	for _, b := range s.Data {
		if short := at + int64(len(b)) - int64(len(data)); short > 0 {
			data = append(data, make([]byte, short)...)
		}
		copy(data[at:], b)
		at += int64(len(b))
	}
	return data
}

// restarted is a new life on this fork's disk.
func (f *fork) restarted(cfg env.Config) *fork {
	b := &fork{name: "restarted", kit: f.kit, now: f.now, files: map[env.SegmentID][]byte{}, names: slices.Clone(f.names), answers: map[uint64]env.Reply{}}
	for i := range f.journal {
		b.journal = append(b.journal, copyEntry(f.journal[i]))
	}
	infos := make([]env.SegmentInfo, 0, len(f.names))
	for _, id := range f.names {
		b.files[id] = slices.Clone(f.files[id])
		infos = append(infos, env.SegmentInfo{ID: id, Size: int64(len(f.files[id]))})
	}
	b.pieces = pieces(infos, b.journal, nil, 4096, &roller{d: dice{cfg.Seed}, p: drawPiece})
	b.m = f.kit.New(cfg, b.now)
	b.next()
	b.why = b.run()
	return b
}

func (f *fork) next() {
	f.events = append(f.events, f.pieces[0])
	f.pieces = f.pieces[1:]
}

// run steps until nothing is under way.
func (f *fork) run() (restless string) {
	for n := 0; ; n++ {
		if n > 20_000 {
			return fmt.Sprintf("after %d Steps without any time passing it still asks for more: %s", n, f.recent())
		}
		if len(f.events) == 0 {
			if f.m.WakeAt() > f.now.Mono {
				return ""
			}
			f.events = append(f.events, env.Tick{})
		}
		ev := f.events[0]
		f.events = f.events[1:]
		f.m.Step(f.now, ev, &f.out)
		f.act()
	}
}

func (f *fork) act() {
	out := &f.out
	for i := range out.Journal {
		f.journal = append(f.journal, copyEntry(out.Journal[i]))
	}
	if n := len(out.Journal); n > 0 {
		last := out.Journal[n-1].Seq
		f.events = append(f.events, env.Journaled{Written: last, Synced: last})
	}
	for i := range out.Stores {
		s := &out.Stores[i]
		if _, ok := f.files[s.Segment]; !ok {
			f.names = append(f.names, s.Segment)
		}
		f.files[s.Segment] = write(f.files[s.Segment], s)
		end := int64(len(f.files[s.Segment]))
		f.events = append(f.events, env.Stored{Segment: s.Segment, Written: end, Synced: end})
	}
	for _, r := range out.Reads {
		f.load(r)
	}
	for _, t := range out.Trims {
		if _, ok := f.files[t.Segment]; !ok {
			f.names = append(f.names, t.Segment)
		}
		f.files[t.Segment] = f.files[t.Segment][:t.End:t.End]
		f.events = append(f.events, env.Stored{Segment: t.Segment, Written: t.End, Synced: t.End})
	}
	for _, id := range out.Drops {
		delete(f.files, id)
		f.names = slices.DeleteFunc(f.names, func(o env.SegmentID) bool { return o == id })
	}
	for i := range out.Jobs {
		f.events = append(f.events, f.kit.Job(out.Jobs[i]))
	}
	for i := range out.Replies {
		f.answers[out.Replies[i].N] = out.Replies[i]
	}
	for i := range out.Notes {
		f.notes = append(f.notes, fmt.Sprint(out.Notes[i]))
		f.ready = f.ready || out.Notes[i].Kind == env.Ready
	}
	if out.More {
		f.next()
	}
	out.Reset()
}

func (f *fork) load(r env.Read) {
	data := f.files[r.Segment]
	from := min(r.At, int64(len(data)))
	to := min(r.At+int64(r.MaxBytes), int64(len(data)))
	f.events = append(f.events, env.Loaded{Read: r.Read, Data: slices.Clone(data[from:to])})
}

func sortedKeys[K ~uint64, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// recent names the last entries of the journal.
func (f *fork) recent() string {
	text := ""
	for _, e := range f.journal[max(0, len(f.journal)-8):] {
		kind, _, _ := journal.Parse(e.Header)
		text += fmt.Sprintf(" %d %v %x-%d %d+%d;", e.Seq, kind, e.Log.Topic[:4], e.Log.Partition, len(e.Header), len(e.Payload))
	}
	return text
}
