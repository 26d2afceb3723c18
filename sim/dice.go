package sim

import "github.com/orrery-log/orrery/core/env"

// dice draws all randomness of a run by key: what, of whom, the how-manieth. So
// removing one decision leaves every other one as it was.
type dice struct{ seed uint64 }

// purpose says what is drawn. The numbers are part of what a seed means.
type purpose uint64

const (
	drawPlan purpose = iota + 1
	drawLife
	drawLatency
	drawLoss
	drawLate
	drawJournalWrite
	drawJournalSync
	drawStore
	drawStoreSync
	drawRead
	drawDeliver
	drawCrash
	drawSurvive
	drawTorn
	drawOrder
	drawBatch
	drawProducer
	drawRecord
	drawConsumer
	drawAdmin
	drawCopy
	drawReplay
	drawRot
	drawCut
	drawTick
	drawPiece
	drawJob
	drawSent
	drawVandal
)

// mix is the finalizer of splitmix64: a bijection whose output bits all depend on all input bits.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

func (d dice) draw(p purpose, entity, n uint64) uint64 {
	x := mix(d.seed + 0x9e3779b97f4a7c15)
	x = mix(x + uint64(p)*0x9e3779b97f4a7c15)
	x = mix(x + entity*0xd1342543de82ef95 + 1)
	return mix(x + n*0x9e3779b97f4a7c15 + 2)
}

// below draws from 0 … n-1.
func (d dice) below(p purpose, entity, n uint64, bound int64) int64 {
	if bound <= 1 {
		return 0
	}
	return int64(d.draw(p, entity, n) % uint64(bound))
}

// chance is true in permille of 1000 draws.
func (d dice) chance(p purpose, entity, n uint64, permille int) bool {
	return permille > 0 && int(d.draw(p, entity, n)%1000) < permille
}

// within draws a time from a span. One in sixteen is from the far tail of it.
func (d dice) within(p purpose, entity, n uint64, s Span) env.Time {
	if s.Max <= s.Min {
		return s.Min
	}
	x := d.draw(p, entity, n)
	width := uint64(s.Max - s.Min)
	if x&15 != 0 {
		width = width/8 + 1
	}
	return s.Min + env.Time((x>>8)%width)
}

// roller draws one after the other from one key, where a sequence belongs together.
type roller struct {
	d      dice
	p      purpose
	entity uint64
	n      uint64
}

func (r *roller) next() uint64 { r.n++; return r.d.draw(r.p, r.entity, r.n) }

func (r *roller) below(bound int64) int64 {
	if bound <= 1 {
		return 0
	}
	return int64(r.next() % uint64(bound))
}

func (r *roller) between(least, most int64) int64 { return least + r.below(most-least+1) }

func (r *roller) chance(permille int) bool { return int(r.next()%1000) < permille }

func pick[T any](r *roller, from ...T) T { return from[r.below(int64(len(from)))] }
