package sim

import (
	"github.com/orrery-log/orrery/core/env"
)

// fate carries the schedule of faults out.
type fate struct {
	healed    bool
	crashIn   int64 // a crash after so many I/O operations; 0: none
	before    bool  // it comes before the operation's effect
	power     bool
	recovery  int64 // a crash in the n-th Step of the next recovery; 0: none
	recoverPw bool
}

func (f *fate) begin(w *world) {
	for i := range w.plan.Faults {
		fault := w.plan.Faults[i]
		w.queue.add(fault.At, func() { f.strike(w, fault) })
	}
}

// strike makes one fault happen. A crash needs a broker that is up.
func (f *fate) strike(w *world, x Fault) {
	if f.healed {
		return
	}
	if w.trace != nil {
		w.traceLine("fault %v", x)
	}
	d := w.disk
	until := w.now + x.For
	switch x.Kind {
	case ProcessCrash, PowerLoss:
		if !w.up { // it waits for a broker that can die
			w.in(env.Second, func() { f.strike(w, x) })
			return
		}
		w.stats.drew(string(x.Kind))
		w.crash(x.Kind == PowerLoss)
		return
	case CrashAtIO, PowerAtIO:
		f.crashIn, f.power, f.before = 1+x.N/2, x.Kind == PowerAtIO, x.N%2 == 0
	case CrashRecovery, PowerRecovery:
		f.recovery, f.recoverPw = x.N, x.Kind == PowerRecovery
		if w.up {
			w.crash(f.recoverPw)
		}
	case SlowDisk:
		life := d.life
		d.slowness = x.N
		w.in(x.For, func() {
			if d.life == life {
				d.slowness = 1
			}
		})
	case HungSync:
		d.syncTill = max(d.syncTill, until)
	case HungDisk:
		d.hungTill = max(d.hungTill, until)
	case FullDisk:
		w.step(env.Space{Free: w.plan.Limits.Reserve / 2})
		w.in(x.For, func() { w.step(env.Space{Free: d.plan.Free}) })
	case WallJump:
		w.shift += x.For
	case Pause:
		w.pause(x.For)
	case NetDown:
		w.net.down(x.For)
	case SlowReader:
		w.net.slowTill = max(w.net.slowTill, until)
	case BitRot:
		if !d.rot(uint64(x.At)) {
			return
		}
	case RotJournal:
		if !d.rotJournal(uint64(x.At)) {
			return
		}
	case LoseEntry:
		if !w.loseEntry(uint64(x.At), x.For) {
			return
		}
	case QuietHours:
		f.rest(w, x.For)
	}
	w.stats.drew(string(x.Kind))
}

// stepped counts the Steps of a recovery that is to be interrupted.
func (f *fate) stepped(w *world) {
	if f.recovery > 0 && !w.ready {
		if f.recovery--; f.recovery == 0 {
			w.crash(f.recoverPw)
		}
	}
}

// ioDone is called for every operation of the disk when it ends, and is the place
// where a crash falls between two of them.
func (w *world) ioDone(do func()) {
	f := &w.faults
	if f.crashIn > 0 && w.up {
		if f.crashIn--; f.crashIn == 0 {
			if f.before {
				w.crash(f.power)
				return
			}
			life := w.life
			do()
			if w.life == life {
				w.crash(f.power)
			}
			return
		}
	}
	do()
}

// pause lets the process stand still: the world goes on, and all that happened
// meanwhile comes to it at once.
func (w *world) pause(d env.Time) {
	if !w.up {
		return
	}
	w.pausedTill = max(w.pausedTill, w.now+d)
	life := w.life
	w.queue.add(w.pausedTill, func() {
		if w.life != life || w.pausedTill > w.now {
			return
		}
		w.pausedTill = 0
		events := w.paused
		w.paused = nil
		for _, ev := range events {
			if w.life != life {
				return
			}
			w.step(ev)
		}
		if w.life == life && w.up {
			w.tickAt = never
			w.armTick()
		}
	})
}

// rest lets clients be quiet for hours: expiry, retention and idle timers run.
func (f *fate) rest(w *world, d env.Time) {
	w.crowd.quietTill = w.now + d
}
