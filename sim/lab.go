package sim

import "github.com/orrery-log/orrery/core/env"

// Lab is the simulated disk without a broker, for a test that does the same to it
// and to a real one: the simulated must not be kinder.
type Lab struct {
	w    *world
	told []env.Event
}

// probe stands where the broker would and only listens.
type probe struct{ lab *Lab }

func (p probe) WakeAt() env.Time { return never }
func (p probe) Step(_ env.Now, ev env.Event, out *env.Outbox) {
	p.lab.told = append(p.lab.told, ev)
	if s, ok := ev.(env.Survived); ok {
		out.More = !s.Last
	}
}

// NewLab is an empty disk whose small decisions the seed draws.
func NewLab(seed uint64) *Lab {
	l := &Lab{}
	plan, _ := witness("restarts", seed)
	plan.Producers, plan.Consumers, plan.Admins, plan.Faults = nil, nil, nil, nil
	l.w = newWorld(plan, Kit{New: func(env.Config, env.Now) machine { return probe{l} }})
	l.w.start()
	l.rest()
	return l
}

// rest lets everything that is under way come to its end.
func (l *Lab) rest() { l.w.runUntil(l.w.now+env.Minute, nil) }

// Act carries an Outbox out and returns all that was told about it.
func (l *Lab) Act(out *env.Outbox) []env.Event {
	l.told = nil
	l.w.disk.act(out)
	l.rest()
	return l.told
}

// Restart lets the process die, or the power go, and returns what survived, in one piece.
func (l *Lab) Restart(power bool) env.Survived {
	l.w.crash(power)
	l.told = nil
	l.rest()
	var all env.Survived
	for _, ev := range l.told {
		if s, ok := ev.(env.Survived); ok {
			all.Segments = append(all.Segments, s.Segments...)
			all.Checkpoints = append(all.Checkpoints, s.Checkpoints...)
			all.Entries = append(all.Entries, s.Entries...)
			all.Damage = append(all.Damage, s.Damage...)
			all.Last = s.Last
		}
	}
	return all
}
