package sim

import (
	"slices"

	"github.com/orrery-log/orrery/core/env"
)

const pageSize = 4096

// crash ends a life of the disk: unfinished operations are done or not as drawn,
// and with power gone, what is not on the medium is lost in any part.
func (d *disk) crash(power bool) {
	d.life++
	r := &roller{d: d.w.dice, p: drawSurvive, entity: d.life}
	d.finishSome(r)
	if power {
		d.losePower(r)
	}
	j := &d.journal
	j.writing, j.syncing, j.aging = false, false, false
	j.told, j.wanted = env.Journaled{}, 0
	d.reads = map[env.ReadID]*readOp{}
	for _, id := range d.names {
		f := d.files[id]
		f.pending, f.reads, f.hurry, f.syncing, f.aging, f.trim, f.sealed, f.seal, f.touched = nil, 0, false, false, false, nil, false, -1, 0
		f.end = int64(len(f.data))
		f.told = env.Stored{Segment: id}
	}
	d.slowness, d.hungTill, d.syncTill = 1, 0, 0
}

// finishSome lets the process get some of its unfinished work into the operating
// system's hands before it dies.
func (d *disk) finishSome(r *roller) {
	j := &d.journal
	if n := int64(d.last() - j.written); n > 0 {
		upto := j.written + env.Seq(r.below(n+1))
		for s := j.written + 1; s <= upto; s++ {
			d.settleEntry(s)
		}
		j.written = upto
	}
	keep := int(j.written - j.first + 1)
	j.entries, j.sums, j.made = j.entries[:keep], j.sums[:keep], j.made[:keep]
	for _, id := range slices.Clone(d.names) {
		f := d.files[id]
		for _, op := range f.pending {
			if !op.done && r.chance(500) {
				for k, at := 0, op.store.At; k < len(op.store.Data); k++ {
					b := op.store.Data[k]
					if short := at + int64(len(b)) - int64(len(f.data)); short > 0 {
						f.data = append(f.data, make([]byte, short)...)
					}
					copy(f.data[at:], b)
					at += int64(len(b))
				}
			}
		}
		if f.trim != nil && r.chance(500) {
			f.data = f.data[:f.trim.End:f.trim.End]
			f.synced = min(f.synced, f.trim.End)
		}
	}
	if c := j.cut; c > j.first && r.chance(500) {
		d.dropEntries(int(r.below(int64(min(c, j.synced+1)-j.first) + 1)))
	}
}

// losePower keeps what is on the medium and any part of the rest: the journal as
// a prefix, segments by page, names of files never synced perhaps not at all.
func (d *disk) losePower(r *roller) {
	j := &d.journal
	upto := j.synced + env.Seq(r.below(int64(j.written-j.synced)+1))
	keep := int(upto - j.first + 1)
	j.entries, j.sums, j.made = j.entries[:keep], j.sums[:keep], j.made[:keep]
	j.written = upto
	for _, id := range slices.Clone(d.names) {
		f := d.files[id]
		if f.synced == 0 && r.chance(300) {
			d.forget(id)
			continue
		}
		d.losePages(f, r)
	}
	for _, f := range d.dropped { // an unlink whose directory was not synced
		if d.files[f.id] == nil && r.chance(500) {
			f.data = f.data[:min(f.synced, int64(len(f.data)))]
			d.files[f.id] = f
			d.names = append(d.names, f.id)
		}
	}
	d.dropped = nil
}

func (d *disk) forget(id env.SegmentID) {
	delete(d.files, id)
	d.names = slices.DeleteFunc(d.names, func(o env.SegmentID) bool { return o == id })
}

// losePages draws for each page behind the synced bytes whether it is kept, zero, or torn.
func (d *disk) losePages(f *file, r *roller) {
	size := int64(len(f.data))
	if f.synced >= size {
		return
	}
	size = f.synced + r.below(size-f.synced+1)
	f.data = f.data[:size:size]
	for at := f.synced; at < size; {
		end := min((at/pageSize+1)*pageSize, size)
		switch r.below(4) {
		case 0:
			clear(f.data[at:end])
		case 1:
			clear(f.data[at+r.below(end-at+1) : end])
		}
		at = end
	}
}

// restart makes all that is left durable, as a driver does before it hands
// anything over, and cuts it into pieces of Survived.
func (d *disk) restart() []env.Survived {
	j := &d.journal
	j.synced = d.last()
	j.written = j.synced
	d.dropped = nil // the directory is synced too
	for _, id := range d.names {
		f := d.files[id]
		f.synced = int64(len(f.data))
		f.end = f.synced
	}
	r := &roller{d: d.w.dice, p: drawPiece, entity: d.life}
	entries, damage := d.handOver()
	infos := make([]env.SegmentInfo, 0, len(d.names))
	for _, id := range d.names {
		infos = append(infos, env.SegmentInfo{ID: id, Size: int64(len(d.files[id].data))})
	}
	return pieces(infos, entries, damage, d.plan.PieceBytes, r)
}

// handOver are the journal's entries as a scan finds them, and what it could not read.
func (d *disk) handOver() ([]env.Entry, []env.Damage) {
	j := &d.journal
	entries := make([]env.Entry, 0, len(j.entries))
	var damage []env.Damage
	for i := range j.entries {
		e := j.entries[i]
		if j.lost[e.Seq] {
			if e.Seq > j.first && e.Seq < d.last() { // else it looks like what was cut, or like a tear
				loss := env.Damage{Logs: []env.LogID{e.Log}, After: e.Seq - 1, Upto: e.Seq + 1}
				if j.unlisted[e.Seq] {
					loss.Logs = nil
				}
				damage = append(damage, loss)
			}
			continue
		}
		e.Sync = false
		if j.rotten[e.Seq] {
			e.Payload, e.Damaged = nil, true
		}
		entries = append(entries, e)
	}
	return entries, damage
}

// pieces cuts what survived into bounded pieces: segments, each log's last
// checkpoint, the journal in order.
func pieces(infos []env.SegmentInfo, entries []env.Entry, damage []env.Damage, bound int64, r *roller) []env.Survived {
	var out []env.Survived
	for len(infos) > 0 {
		n := min(1+int(r.below(8)), len(infos))
		out = append(out, env.Survived{Segments: infos[:n:n]})
		infos = infos[n:]
	}
	last := map[env.LogID]int{}
	for i := range entries {
		if entries[i].Checkpoint && !entries[i].Damaged {
			last[entries[i].Log] = i
		}
	}
	var checkpoints []env.Entry
	for i := range entries {
		if at, ok := last[entries[i].Log]; ok && at == i {
			checkpoints = append(checkpoints, copyEntry(entries[i]))
		}
	}
	for len(checkpoints) > 0 {
		n := min(1+int(r.below(4)), len(checkpoints))
		out = append(out, env.Survived{Checkpoints: checkpoints[:n:n]})
		checkpoints = checkpoints[n:]
	}
	atOnce := r.chance(500) // damage is told before the first entry, or where it is
	for len(entries) > 0 {
		n, size := 0, int64(0)
		for n < len(entries) && (n == 0 || size < bound) {
			size += entries[n].Size()
			n++
		}
		piece := make([]env.Entry, n)
		for i := range piece {
			piece[i] = copyEntry(entries[i])
		}
		told := 0
		if atOnce {
			told = len(damage)
		}
		for told < len(damage) && damage[told].Upto <= piece[n-1].Seq {
			told++
		}
		out = append(out, env.Survived{Entries: piece, Damage: damage[:told:told]})
		damage = damage[told:]
		entries = entries[n:]
	}
	if len(out) == 0 {
		out = append(out, env.Survived{})
	}
	out[len(out)-1].Last = true
	return out
}

// copyEntry gives the broker bytes of its own: an event's bytes belong to it.
func copyEntry(e env.Entry) env.Entry {
	e.Header = append([]byte(nil), e.Header...)
	if e.Payload != nil {
		e.Payload = append([]byte{}, e.Payload...)
	}
	return e
}
