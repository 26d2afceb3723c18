package broker

import (
	"slices"
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

// Lives that the metadata have lost may have led: their epochs are not given again.
func TestAcceptedLossOfLivesGivesNoEpochTwice(t *testing.T) {
	r := newRig(t, nil)
	r.create("a", 1)
	entries := r.entries
	var lost []env.Seq
	for range 3 {
		r = startRig(t, nil, env.Survived{Entries: entries, Last: true})
		r.settle()
		r.opened(1)
		r.produce(1, "a", 0, -1, []byte("x"))
		r.settle()
		require.Equal(t, metadataLog(), r.entries[0].Log)
		lost = append(lost, r.entries[0].Seq)
		entries = append(entries, r.entries...)
	}
	epoch := r.b.parts[1].rep.Epoch()
	var left []env.Entry
	s := env.Survived{Last: true}
	for _, e := range entries {
		if slices.Contains(lost, e.Seq) {
			s.Damage = append(s.Damage, env.Damage{Logs: []env.LogID{metadataLog()}, After: e.Seq - 1, Upto: e.Seq + 1})
		} else {
			left = append(left, e)
		}
	}
	s.Entries = left
	r = startRig(t, nil, s)
	require.Equal(t, env.Stop, r.notes[len(r.notes)-1].Kind)
	r = startRig(t, nil)
	r.b.cfg.AcceptLoss = []env.LogID{metadataLog()}
	r.survive(s)
	r.settle()
	require.Equal(t, serving, r.b.phase)
	require.Greater(t, r.b.parts[1].rep.Epoch(), epoch)
	require.EqualValues(t, 3, r.b.parts[1].rep.HW(), "no record is lost")
	state, _ := r.b.image.Topic("a").Partition(0)
	require.Equal(t, state.LeaderEpoch, r.b.parts[1].rep.Epoch())
}

func unreadable(e env.Entry) env.Entry {
	e.Payload, e.Damaged = nil, true
	return e
}

// The entry that opened a segment may be lost with the journal's end; its Seq is
// in the file's name, and the next segment of that log must not get it again.
func TestASegmentsLostOpeningIsNotGivenAgain(t *testing.T) {
	s := newScript(t)
	s.b.cfg.AcceptLoss = []env.LogID{metadataLog()}
	far := env.SegmentInfo{ID: env.SegmentID{Topic: [16]byte{9}, Gen: 1 << 60}}
	file := env.SegmentInfo{ID: env.SegmentID{Topic: [16]byte{9}, Gen: 40}, Size: 100}
	var out env.Outbox
	s.b.Step(s.now, env.Survived{Segments: []env.SegmentInfo{file, far}, Damage: []env.Damage{{After: 3}}, Last: true}, &out)
	require.NotEmpty(t, out.Journal)
	require.EqualValues(t, 41, out.Journal[0].Seq)
}
