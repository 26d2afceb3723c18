package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/journal"
	"github.com/orrery-log/orrery/core/record"
	"github.com/orrery-log/orrery/disk"
	"github.com/orrery-log/orrery/sim"
)

// The same script runs against the simulated disk and against a real one. What
// comes to rest must be told, read and handed over alike, or what the simulator
// proves is proved of another disk.

// bench is the real disk under the script.
type bench struct {
	t    *testing.T
	opts disk.Options
	d    *disk.Disk
}

func (b *bench) open() (all env.Survived) {
	d, err := disk.Open(b.opts)
	require.NoError(b.t, err)
	b.d = d
	for !all.Last {
		p, err := d.Survived()
		require.NoError(b.t, err)
		all.Segments = append(all.Segments, p.Segments...)
		all.Checkpoints = append(all.Checkpoints, p.Checkpoints...)
		all.Entries = append(all.Entries, p.Entries...)
		all.Damage = append(all.Damage, p.Damage...)
		all.Last = p.Last
	}
	return all
}

// act carries an Outbox out and waits until it has been told all that is owed.
func (b *bench) act(out *env.Outbox, owed func([]env.Event) bool) (told []env.Event) {
	b.d.Act(out)
	timeout := time.After(20 * time.Second)
	for !owed(told) {
		select {
		case ev := <-b.d.Events():
			told = append(told, ev)
		case err := <-b.d.Failed():
			require.NoError(b.t, err)
		case <-timeout:
			b.t.Fatalf("the real disk owes an event; told so far: %v", told)
		}
	}
	return told
}

// last keeps what an Outbox comes to in the end: the highest numbers, and the data.
func last(events []env.Event) (journaled env.Journaled, stored map[env.SegmentID]env.Stored, loaded map[env.ReadID]env.Loaded) {
	stored, loaded = map[env.SegmentID]env.Stored{}, map[env.ReadID]env.Loaded{}
	for _, ev := range events {
		switch e := ev.(type) {
		case env.Journaled:
			journaled = e
		case env.Stored:
			stored[e.Segment] = e
		case env.Loaded:
			loaded[e.Read] = e
		}
	}
	return journaled, stored, loaded
}

// script is a deterministic sequence of Outboxes, each as a broker could give it.
type script struct {
	seq   env.Seq
	reads env.ReadID
	segs  []scripted
	draw  uint64
	cut   env.Seq
}

type scripted struct {
	id     env.SegmentID
	size   int64
	sealed bool
}

func (s *script) below(n uint64) uint64 {
	s.draw = s.draw*6364136223846793005 + 1442695040888963407
	return s.draw >> 33 % n
}

func (s *script) log(n uint64) env.LogID {
	return env.LogID{Topic: [16]byte{byte(n + 1)}, Partition: int32(n)}
}

// next is the next Outbox: an entry or several, and something with a segment.
func (s *script) next() *env.Outbox {
	out := &env.Outbox{}
	for range 1 + s.below(4) {
		s.seq++
		e := env.Entry{Seq: s.seq, Log: s.log(s.below(3)), Sync: true, Checkpoint: s.below(4) == 0, Header: journal.Start{Start: int64(s.seq)}.AppendTo(nil)}
		if !e.Checkpoint {
			e.Payload = bytes.Repeat([]byte{byte(s.seq)}, int(s.below(3000)))
		}
		out.Journal = append(out.Journal, e)
	}
	switch k := s.below(6); {
	case k == 0 && len(s.segs) < 5:
		s.seq++
		id := env.SegmentID{Topic: s.log(0).Topic, Partition: 0, Base: int64(s.seq), Gen: uint64(s.seq)}
		out.Journal = append(out.Journal, env.Entry{Seq: s.seq, Log: s.log(0), Sync: true, Header: journal.Open{Base: id.Base}.AppendTo(nil)})
		s.segs = append(s.segs, scripted{id: id})
	case k == 1 && s.seq > s.cut+20:
		s.cut = s.seq - 10
		out.Cuts = append(out.Cuts, s.cut)
	default:
		s.segment(out, k)
	}
	return out
}

func (s *script) segment(out *env.Outbox, k uint64) {
	if len(s.segs) == 0 {
		return
	}
	i := s.below(uint64(len(s.segs)))
	g := &s.segs[i]
	switch {
	case k == 2 && g.size > 0:
		s.reads++
		out.Reads = append(out.Reads, env.Read{Read: s.reads, Segment: g.id, At: int64(s.below(uint64(g.size))), MaxBytes: int32(1 + s.below(10000))})
	case k == 3 && g.sealed:
		out.Drops = append(out.Drops, g.id)
		s.segs = slices.Delete(s.segs, int(i), int(i)+1)
	case !g.sealed:
		data := bytes.Repeat([]byte{byte(s.draw)}, int(1+s.below(9000)))
		seal := s.below(3) == 0
		out.Stores = append(out.Stores, env.Store{Segment: g.id, At: g.size, Data: [][]byte{data[:len(data)/2], data[len(data)/2:]}, Seal: seal, Sync: true})
		g.size += int64(len(data))
		g.sealed = seal
	}
}

// owed tells when everything of an Outbox was told.
func owed(out *env.Outbox) func([]env.Event) bool {
	return func(events []env.Event) bool {
		journaled, stored, loaded := last(events)
		if n := len(out.Journal); n > 0 && journaled.Synced < out.Journal[n-1].Seq {
			return false
		}
		for i := range out.Stores {
			s := &out.Stores[i]
			if stored[s.Segment].Synced < s.At+int64(len(s.Data[0])+len(s.Data[1])) {
				return false
			}
		}
		return len(loaded) == len(out.Reads)
	}
}

func TestTheSimulatedDiskDoesWhatTheRealOneDoes(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("script %d", seed), func(t *testing.T) {
			b := &bench{t: t, opts: disk.Options{Dir: t.TempDir(), JournalFileBytes: 16 << 10, SyncAge: time.Millisecond, StoreSyncAge: time.Millisecond, SpaceEvery: time.Hour}}
			require.Empty(t, b.open().Entries)
			lab := sim.NewLab(seed + 1)
			s := &script{draw: seed}
			for round := range 4 {
				for range 25 {
					out := s.next()
					simulated := lab.Act(out)
					real := b.act(out, owed(out))
					j1, st1, l1 := last(simulated)
					j2, st2, l2 := last(real)
					require.Equal(t, j1, j2)
					require.Equal(t, st1, st2)
					require.Equal(t, l1, l2)
				}
				require.NoError(t, b.d.Close())
				compare(t, s, lab.Restart(round%2 == 0), b.open())
			}
			require.NoError(t, b.d.Close())
		})
	}
}

// compare holds what both hand over against each other. How much of what was cut
// is still there is theirs to choose.
func compare(t *testing.T, s *script, simulated, real env.Survived) {
	t.Helper()
	needed := func(all env.Survived) (lines []string) {
		for i := range all.Entries {
			if e := &all.Entries[i]; e.Seq >= s.cut {
				lines = append(lines, fmt.Sprintf("%d %v checkpoint %v %x %x", e.Seq, e.Log, e.Checkpoint, record.CRC(e.Header), record.CRC(e.Payload)))
			}
		}
		return lines
	}
	require.Equal(t, needed(simulated), needed(real))
	checkpoints := func(all env.Survived) (lines []string) {
		for i := range all.Checkpoints {
			if e := &all.Checkpoints[i]; e.Seq >= s.cut {
				lines = append(lines, fmt.Sprintf("%d %v %x", e.Seq, e.Log, record.CRC(e.Header)))
			}
		}
		slices.Sort(lines)
		return lines
	}
	require.Equal(t, checkpoints(simulated), checkpoints(real))
	segments := func(all env.Survived) (lines []string) {
		for _, f := range all.Segments {
			lines = append(lines, fmt.Sprintf("%v %d", f.ID, f.Size))
		}
		slices.SortFunc(lines, strings.Compare)
		return lines
	}
	require.Equal(t, segments(simulated), segments(real))
	require.Empty(t, simulated.Damage)
	require.Empty(t, real.Damage)
}
