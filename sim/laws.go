package sim

import (
	"github.com/orrery-log/orrery/core/env"
)

// The laws of core/env that a driver can see broken. Each is asserted when an
// effect comes in, before anything is done with it.

// checkStore: the Stores of a segment lie back to back, bytes are written once,
// nothing follows a Seal, and the entry that opened the segment is synced (law 6).
func (d *disk) checkStore(f *file, s *env.Store) {
	if o := d.w.forms.opens[env.Seq(s.Segment.Gen)]; o.log != s.Segment.Log() || o.base != s.Segment.Base {
		d.w.fail(lawBroken, "law 6: a Store in %s, and no entry opened that segment: its Gen is the Seq of none that did, so its id may be used twice", segmentName(s.Segment))
	}
	switch {
	case f.trim != nil:
		d.w.fail(lawBroken, "law 6: a Store in %s before its Trim is done", segmentName(s.Segment))
	case f.sealed || f.seal >= 0 && s.At >= f.seal:
		d.w.fail(lawBroken, "law 6: a Store at %d of %s, which was sealed at %d", s.At, segmentName(s.Segment), f.seal)
	case s.At < f.touched && d.overlaps(f, s):
		d.w.fail(lawBroken, "law 6: bytes at %d of %s are stored twice in one life", s.At, segmentName(s.Segment))
	case env.Seq(s.Segment.Gen) > d.journal.told.Synced && env.Seq(s.Segment.Gen) > d.recovered():
		d.w.fail(lawBroken, "law 6: a Store in %s whose opening entry %d is not synced (%d is)", segmentName(s.Segment), s.Segment.Gen, d.journal.told.Synced)
	}
	f.touched = max(f.touched, s.At+storeSize(s))
}

// overlaps tells whether a Store gives bytes again: below the whole part of the
// file, or within a Store that is on its way.
func (d *disk) overlaps(f *file, s *env.Store) bool {
	end := s.At + storeSize(s)
	if s.At < f.end {
		return end > s.At
	}
	for _, p := range f.pending {
		if s.At < p.store.At+storeSize(&p.store) && p.store.At < end {
			return true
		}
	}
	return false
}

// recovered is the last Seq that the start of this life handed over.
func (d *disk) recovered() env.Seq { return d.w.recovered }

// checkDrop: a segment goes when nothing of it is outstanding (law 6).
func (d *disk) checkDrop(f *file, id env.SegmentID) {
	switch {
	case f == nil:
		d.w.fail(lawBroken, "law 6: a Drop of %s, which is not there", segmentName(id))
	case len(f.pending) > 0:
		d.w.fail(lawBroken, "law 6: a Drop of %s while a Store of it is outstanding", segmentName(id))
	case f.reads > 0:
		d.w.fail(lawBroken, "law 6: a Drop of %s while a Read of it is outstanding", segmentName(id))
	}
}

// checkOutbox holds the laws about a whole Outbox.
func (w *world) checkOutbox(out *env.Outbox) {
	if !w.handedOver && (len(out.Journal) > 0 || len(out.Cuts) > 0 || len(out.Drops) > 0) {
		w.fail(lawBroken, "recovery: %d entries, %d cuts, %d drops before the last piece was handed over", len(out.Journal), len(out.Cuts), len(out.Drops))
	}
	if w.handedOver && len(out.Trims) > 0 && w.ready {
		w.fail(lawBroken, "law 6: a Trim after recovery")
	}
	for _, c := range out.Cuts {
		if c > w.disk.journal.told.Synced+1 && c > w.recovered+1 {
			w.fail(lawBroken, "a Cut at %d, beyond what is synced (%d)", c, w.disk.journal.told.Synced)
		}
	}
}
