package sim

import (
	"github.com/orrery-log/orrery/core/broker"
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/jobs"
	"github.com/orrery-log/orrery/sim/plain"
)

// Orrery is the kit of the broker of this project.
func Orrery() Kit {
	return Kit{
		New:     func(cfg env.Config, now env.Now) machine { return broker.New(cfg, now) },
		Job:     jobs.Run,
		Inspect: func(m machine) { m.(*broker.Broker).CheckInvariants() },
		Copy: func(m machine) (machine, error) {
			data, err := plain.Encode(m.(*broker.Broker))
			if err != nil {
				return nil, err
			}
			b := new(broker.Broker)
			return b, plain.Decode(data, b)
		},
	}
}
