package broker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
)

func TestGaugesAreToldOnceASecondAndAreTrue(t *testing.T) {
	h := newHot(t, 1000)
	h.s.now.Mono += gaugesEvery
	told := func(ev env.Event) map[string]int64 {
		var out env.Outbox
		h.s.b.Step(h.s.now, ev, &out)
		values := map[string]int64{}
		for _, n := range out.Notes {
			if n.Kind == env.Gauge {
				values[n.Name] = n.Value
			}
		}
		return values
	}
	r := h.request()
	r.N = 2
	first := told(r)
	require.Equal(t, h.s.b.journal.Behind(), first["journal.bytes"])
	require.EqualValues(t, 1, first["requests.parked"])
	require.EqualValues(t, 2, first["partitions"], "the topic's and the metadata log")
	require.Empty(t, told(env.Tick{}), "not again in the same second")
	h.s.now.Mono += gaugesEvery
	require.NotEmpty(t, told(env.Tick{}))
}
