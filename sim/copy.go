package sim

// maybeCopy goes on with a copy of the broker that went through an encoder, at
// Steps drawn by the seed (law 7). Nothing may change by it: every promise is
// still watched, and the copy encodes to the same bytes.
func (w *world) maybeCopy() {
	if w.kit.Copy == nil || w.plan.Copies == 0 || w.steps%16 != 0 || !w.dice.chance(drawCopy, 0, w.steps, w.plan.Copies) {
		return
	}
	m, err := w.kit.Copy(w.m)
	if err != nil {
		w.fail(notPlain, "a broker does not go through an encoder: %v", err)
	}
	w.m = m
	w.stats.Copies++
}
