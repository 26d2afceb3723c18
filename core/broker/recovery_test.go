package broker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
)

// An image without what is lost would take a topic for deleted and drop its records.
func TestLostMetadataStopTheBroker(t *testing.T) {
	r := newRig(t, nil)
	r.create("a", 1)
	r.produce(1, "a", 0, -1, []byte("x"))
	r.settle()
	require.Equal(t, metadataLog(), r.entries[1].Log)
	created := env.Damage{Logs: []env.LogID{metadataLog()}, After: 1, Upto: 3}
	segment := env.SegmentInfo{ID: env.SegmentID{Topic: [16]byte{9}, Gen: 2}, Size: 100}
	for name, s := range map[string]env.Survived{
		"the metadata log is named":   {Damage: []env.Damage{created}, Entries: []env.Entry{r.entries[0], r.entries[2]}},
		"no log is named":             {Damage: []env.Damage{{After: 1, Upto: 3}}, Entries: []env.Entry{r.entries[0], r.entries[2]}},
		"nothing of it is there":      {Damage: []env.Damage{{Upto: 3}}, Entries: r.entries[2:3]},
		"the journal is gone, whole":  {Segments: []env.SegmentInfo{segment}},
		"a batch of it is unreadable": {Entries: []env.Entry{r.entries[0], unreadable(r.entries[1]), r.entries[2]}},
	} {
		s.Last = true
		r := startRig(t, nil, s)
		r.settle()
		require.NotEmpty(t, r.notes, name)
		require.Equal(t, env.Stop, r.notes[len(r.notes)-1].Kind, name)
		require.Empty(t, r.entries, name)
	}
	sound := startRig(t, nil, env.Survived{Entries: r.entries[:3], Last: true})
	sound.settle()
	require.Equal(t, serving, sound.b.phase)
}

func unreadable(e env.Entry) env.Entry {
	e.Payload, e.Damaged = nil, true
	return e
}
