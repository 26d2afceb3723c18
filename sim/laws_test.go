package sim

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/jobs"
	"github.com/orrery-log/orrery/core/journal"
	"github.com/orrery-log/orrery/core/record"
)

// puppet is a broker that does what a test says, one act after each Journaled or Stored.
type puppet struct {
	acts []func(out *env.Outbox)
	told []env.Event
}

func (p *puppet) WakeAt() env.Time { return never }

func (p *puppet) Step(_ env.Now, ev env.Event, out *env.Outbox) {
	switch e := ev.(type) {
	case env.Survived:
		if !e.Last {
			out.More = true
			return
		}
		out.Notes = append(out.Notes, env.Note{Kind: env.Ready, Name: "ready"})
	case env.Journaled, env.Stored:
		p.told = append(p.told, ev)
		if j, ok := ev.(env.Journaled); ok && j.Synced < j.Written {
			return
		}
	default:
		return
	}
	if len(p.acts) > 0 {
		act := p.acts[0]
		p.acts = p.acts[1:]
		act(out)
	}
}

// play runs a puppet in a world without clients, for a second.
func play(t *testing.T, acts ...func(*env.Outbox)) (*puppet, *world, *Failure) {
	t.Helper()
	plan, ok := witness("restarts", 1)
	require.True(t, ok)
	plan.Producers, plan.Consumers, plan.Admins, plan.Faults = nil, nil, nil, nil
	p := &puppet{acts: acts}
	w := newWorld(plan, Kit{New: func(env.Config, env.Now) machine { return p }, Job: jobs.Run})
	var failure *Failure
	func() {
		defer func() {
			if r := recover(); r != nil {
				failure = r.(*Failure)
			}
		}()
		w.start()
		w.crowd.begin(w)
		w.runUntil(env.Second, nil)
	}()
	return p, w, failure
}

var testLog = env.LogID{Topic: [16]byte{9}, Partition: 1}

func openEntry(seq env.Seq) env.Entry {
	return env.Entry{Seq: seq, Log: testLog, Sync: true, Header: journal.Open{Base: 0}.AppendTo(nil)}
}

func segment(gen uint64) env.SegmentID {
	return env.SegmentID{Topic: testLog.Topic, Partition: testLog.Partition, Gen: gen}
}

func journals(entries ...env.Entry) func(*env.Outbox) {
	return func(out *env.Outbox) { out.Journal = append(out.Journal, entries...) }
}

func stores(at int64, data string, seal bool) func(*env.Outbox) {
	return func(out *env.Outbox) {
		out.Stores = append(out.Stores, env.Store{Segment: segment(1), At: at, Data: [][]byte{[]byte(data)}, Seal: seal, Sync: true})
	}
}

func TestALawfulBrokerIsToldOfAllItsWork(t *testing.T) {
	p, w, failure := play(t, journals(openEntry(1)), stores(0, "abc", false), stores(3, "def", true))
	require.Nil(t, failure)
	require.Contains(t, p.told, env.Event(env.Journaled{Written: 1, Synced: 1}))
	require.Equal(t, env.Event(env.Stored{Segment: segment(1), Written: 6, Synced: 6}), p.told[len(p.told)-1])
	require.Equal(t, "abcdef", string(w.disk.files[segment(1)].data))
}

func TestEachBrokenLawIsCaught(t *testing.T) {
	bytesOf := []byte("later changed")
	records := func(seq env.Seq, base int64) env.Entry {
		b := record.Build(record.NoProducer(), []record.Record{{Value: []byte("v")}})
		b.Place(base, 3)
		return env.Entry{Seq: seq, Log: testLog, Header: (&journal.Records{Base: base, Last: base, Epoch: 3, Bytes: int32(len(b)), Count: 1, MaxTimeAt: base, ProducerID: -1}).AppendTo(nil), Payload: b}
	}
	for name, acts := range map[string][]func(*env.Outbox){
		"law 3: journal entry 3 after 0":      {journals(openEntry(3))},
		"which was sealed at 3":               {journals(openEntry(1)), stores(0, "abc", true), stores(3, "x", false)},
		"are stored twice in one life":        {journals(openEntry(1)), stores(0, "abc", false), stores(1, "x", false)},
		"no entry opened that segment":        {stores(0, "abc", false)},
		"whose opening entry 1 is not synced": {func(out *env.Outbox) { journals(openEntry(1))(out); stores(0, "abc", false)(out) }},
		"law 6: a Drop of":                    {func(out *env.Outbox) { out.Drops = append(out.Drops, segment(7)) }},
		"law 6: a Drop of 09000000-1/0.1":     {journals(openEntry(1)), func(out *env.Outbox) { stores(0, "a", false)(out); out.Drops = append(out.Drops, segment(1)) }},
		"law 6: a Read of":                    {func(out *env.Outbox) { out.Reads = append(out.Reads, env.Read{Read: 1, Segment: segment(1)}) }},
		"a Cut at 9":                          {func(out *env.Outbox) { out.Cuts = append(out.Cuts, 9) }},
		"behind offset 1":                     {journals(records(1, 0), records(2, 5))},
		"law 1: bytes of journal entry 1 changed": {func(out *env.Outbox) {
			e := openEntry(1)
			e.Payload = bytesOf
			out.Journal = append(out.Journal, e)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if bytes.HasPrefix([]byte(name), []byte("law 1")) {
				inner := acts[0]
				acts = []func(*env.Outbox){func(out *env.Outbox) { inner(out) }}
				failure := playChanging(t, bytesOf, acts)
				require.NotNil(t, failure)
				require.Contains(t, failure.Text, name)
				return
			}
			_, _, failure := play(t, acts...)
			require.NotNil(t, failure, "nothing was noticed")
			require.Contains(t, failure.Text, name)
		})
	}
}

// playChanging changes bytes behind the driver's back, after the Outbox that held them.
func playChanging(t *testing.T, shared []byte, acts []func(*env.Outbox)) (failure *Failure) {
	t.Helper()
	plan, _ := witness("restarts", 1)
	plan.Producers, plan.Consumers, plan.Admins, plan.Faults = nil, nil, nil, nil
	p := &puppet{acts: acts}
	w := newWorld(plan, Kit{New: func(env.Config, env.Now) machine { return p }, Job: jobs.Run})
	defer func() {
		if r := recover(); r != nil {
			failure = r.(*Failure)
		}
	}()
	w.start()
	shared[0]++
	w.runUntil(env.Second, nil)
	return nil
}

func TestWhatWasSyncedSurvivesAnyCrashAndTheJournalIsAPrefix(t *testing.T) {
	for seed := range uint64(60) {
		plan, _ := witness("restarts", seed+1)
		plan.Producers, plan.Consumers, plan.Admins, plan.Faults = nil, nil, nil, nil
		var p *puppet
		life := 0
		w := newWorld(plan, Kit{Job: jobs.Run, New: func(env.Config, env.Now) machine {
			if life++; life == 1 {
				var acts []func(*env.Outbox)
				acts = append(acts, journals(openEntry(1)))
				for i := range 30 {
					acts = append(acts, func(out *env.Outbox) {
						journals(env.Entry{Seq: env.Seq(i + 2), Log: testLog, Sync: i%3 == 0, Header: journal.Start{Start: int64(i)}.AppendTo(nil)})(out)
						stores(int64(i)*3000, string(bytes.Repeat([]byte{byte('a' + i)}, 3000)), false)(out)
					})
				}
				p = &puppet{acts: acts}
				return p
			}
			return &puppet{}
		}})
		w.start()
		w.runUntil(env.Time(w.dice.below(drawPlan, 9, seed, int64(20*env.Millisecond))), nil)
		var synced env.Seq
		var stored int64
		for _, ev := range p.told {
			switch e := ev.(type) {
			case env.Journaled:
				synced = max(synced, e.Synced)
			case env.Stored:
				stored = max(stored, e.Synced)
			}
		}
		power := seed%2 == 0
		w.crash(power)
		last := w.disk.last()
		require.GreaterOrEqual(t, last, synced, "seed %d", seed)
		for i, e := range w.disk.journal.entries {
			require.Equal(t, w.disk.journal.first+env.Seq(i), e.Seq)
		}
		if stored > 0 {
			data := w.disk.files[segment(1)].data
			require.GreaterOrEqual(t, int64(len(data)), stored, "seed %d", seed)
			for at := range stored {
				if data[at] != byte('a'+at/3000) {
					t.Fatalf("seed %d: byte %d of the synced %d is %q", seed, at, stored, data[at])
				}
			}
		}
	}
}

func TestTakingAFaultAwayChangesNothingBeforeIt(t *testing.T) {
	var traces [2]bytes.Buffer
	for i := range traces {
		plan, err := Draw(3, "short")
		require.NoError(t, err)
		plan.Length = 12 * env.Second
		plan.Faults = []Fault{{At: 3 * env.Second, Kind: ProcessCrash}, {At: 8 * env.Second, Kind: PowerLoss}}[:2-i]
		kit := Orrery()
		kit.Trace = &traces[i]
		require.Nil(t, Run(plan, kit).Failure)
	}
	// Behind the plan, which the trace prints first, up to the fault.
	_, one, ok := bytes.Cut(traces[0].Bytes(), []byte("* life 1:"))
	require.True(t, ok)
	_, other, ok := bytes.Cut(traces[1].Bytes(), []byte("* life 1:"))
	require.True(t, ok)
	with, _, ok := bytes.Cut(one, []byte("8.000000"))
	require.True(t, ok)
	require.NotEmpty(t, with)
	require.True(t, bytes.HasPrefix(other, with), "a fault at 8 s changed what comes before it")
}
