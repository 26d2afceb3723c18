package sim

import (
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/metadata"
)

// rot changes a bit of a synced segment, the same for every read. The log that it
// belongs to may refuse that range from then on; it must not serve or skip it.
func (d *disk) rot(draw uint64) bool {
	r := &roller{d: d.w.dice, p: drawRot, entity: draw}
	var candidates []*file
	for _, id := range d.names {
		if f := d.files[id]; f.synced > 0 && f.trim == nil && d.w.truth.log(id.Topic, id.Partition) != nil {
			candidates = append(candidates, f)
		}
	}
	if len(candidates) == 0 {
		return false
	}
	f := candidates[r.below(int64(len(candidates)))]
	d.w.truth.log(f.id.Topic, f.id.Partition).rotten = true
	if r.chance(200) {
		f.refused = true
		return true
	}
	f.data[r.below(f.synced)] ^= 1 << r.below(8)
	return true
}

// rotJournal damages the payload of a synced entry of the journal that belongs to
// a client's log, or loses its header; the next start finds out.
func (d *disk) rotJournal(draw uint64) bool {
	r := &roller{d: d.w.dice, p: drawRot, entity: draw}
	j := &d.journal
	var candidates []env.Seq
	for s := j.first; s <= j.synced; s++ {
		if e := &j.entries[s-j.first]; d.w.truth.log(e.Log.Topic, e.Log.Partition) != nil && len(e.Payload) > 0 {
			candidates = append(candidates, s)
		}
	}
	if len(candidates) == 0 {
		return false
	}
	s := candidates[r.below(int64(len(candidates)))]
	e := &j.entries[s-j.first]
	d.w.truth.log(e.Log.Topic, e.Log.Partition).rotten = true
	j.rotten[s] = true
	return true
}

// loseEntry loses a synced entry of a client's log with its header, and the
// process with it. The next start is told which log it was; the log refuses
// produces until, some time later, an operator accepts the loss. What became of
// that log's records nobody can say from then on; every other log goes on.
func (w *world) loseEntry(draw uint64, accept env.Time) bool {
	d := w.disk
	r := &roller{d: w.dice, p: drawRot, entity: draw}
	j := &d.journal
	var candidates []env.Seq
	for s := j.first + 1; s < j.synced; s++ {
		if l := w.truth.log(j.entries[s-j.first].Log.Topic, j.entries[s-j.first].Log.Partition); l != nil && !w.plan.Topics[l.topic.plan].Churn {
			candidates = append(candidates, s)
		}
	}
	if len(candidates) == 0 || !w.up {
		return false
	}
	s := candidates[r.below(int64(len(candidates)))]
	id := j.entries[s-j.first].Log
	l := w.truth.log(id.Topic, id.Partition)
	l.rotten, l.blind = true, true
	j.lost[s] = true
	accepted := []env.LogID{id}
	if r.chance(300) && w.metaAfter(s) {
		// The list of logs is lost too: any log without a later entry may have lost something.
		j.unlisted[s] = true
		accepted = append(accepted, w.blindWithout(s, id)...)
	}
	w.crash(false)
	w.in(accept, func() {
		w.accepted = append(w.accepted, accepted...)
		w.crash(false)
	})
	return true
}

// metaAfter tells whether the metadata log has a synced entry behind a place, so that
// a loss there can not be its own.
func (w *world) metaAfter(s env.Seq) bool {
	j := &w.disk.journal
	for at := s + 1; at <= j.synced; at++ {
		if j.entries[at-j.first].Log.Topic == metadata.MetadataTopic() {
			return true
		}
	}
	return false
}

// blindWithout gives up on the logs that have no synced entry behind a place.
func (w *world) blindWithout(s env.Seq, but env.LogID) []env.LogID {
	j := &w.disk.journal
	later := map[env.LogID]bool{but: true}
	for at := s + 1; at <= j.synced; at++ {
		later[j.entries[at-j.first].Log] = true
	}
	var found []env.LogID
	for _, l := range w.truth.order {
		if id := (env.LogID{Topic: l.topic.id, Partition: l.partition}); !later[id] {
			l.rotten, l.blind = true, true
			found = append(found, id)
		}
	}
	return found
}
