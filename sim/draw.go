package sim

import (
	"fmt"
	"sort"
	"strings"

	"github.com/orrery-log/orrery/core/env"
)

// Profiles are the ways in which a seed can be drawn.
var Profiles = map[string]string{
	"full":  "everything: tiny limits, all faults, all clients (the default)",
	"calm":  "no faults at all; what fails here fails in any weather",
	"crash": "one minute of process crashes and power losses, many of them",
	"disk":  "one minute with a slow, hung, full and rotting disk, and crashes",
	"tiny":  "one minute with budgets smaller than a batch and segments of a few batches",
	"short": "like full, one simulated minute long",
}

// Draw draws the plan of a seed.
func Draw(seed uint64, profile string) (*Plan, error) {
	if name, ok := strings.CutPrefix(profile, "witness/"); ok {
		if p, ok := witness(name, seed); ok {
			return p, nil
		}
		return nil, fmt.Errorf("no witness %q", name)
	}
	if _, ok := Profiles[profile]; !ok {
		var names []string
		for name := range Profiles {
			names = append(names, name)
		}
		sort.Strings(names)
		return nil, fmt.Errorf("no profile %q; there are %s", profile, strings.Join(names, ", "))
	}
	r := &roller{d: dice{seed}, p: drawPlan, entity: 1}
	p := &Plan{Seed: seed, Profile: profile, Length: 10*env.Minute + 10*env.Second, Heal: 5 * env.Minute}
	if profile != "full" && profile != "calm" {
		p.Length = env.Minute
	}
	p.Copies = int(r.below(3))
	p.Replays = 4
	p.Linger = pick(r, 0, 50, 300)
	drawLimits(r, p)
	drawDisk(r, p)
	drawNet(r, p)
	drawTopics(&roller{d: dice{seed}, p: drawPlan, entity: 2}, p)
	drawClients(&roller{d: dice{seed}, p: drawPlan, entity: 3}, p)
	drawFaults(&roller{d: dice{seed}, p: drawPlan, entity: 4}, p)
	return p, nil
}

func drawLimits(r *roller, p *Plan) {
	l := env.DefaultLimits()
	const kib = 1 << 10
	l.Unwritten = r.between(16, 256) * kib
	l.Tails = r.between(16, 256) * kib
	l.Journal = pick(r, r.between(48, 256), r.between(256, 1024)) * kib
	l.Reads = r.between(8, 128) * kib
	l.Replies = r.between(16, 256) * kib
	l.IndexCache = r.between(1, 64) * kib
	l.ConnShare = int32(r.between(20, 100))
	l.StoreBytes = r.between(512, 16*kib)
	l.StoreAge = env.Time(r.between(1, 5000)) * env.Millisecond
	l.IndexEvery = int32(pick(r, r.between(200, 1000), r.between(1000, 8000)))
	l.CheckEvery = r.between(1, 16) * kib
	l.ReplayBytes = r.between(256, 8*kib)
	l.CarryMax = r.between(100, 4*kib)
	l.Producers = int32(r.between(2, 5))
	l.EpochMax = int16(r.between(4, 8))
	l.FetchMax = int32(r.between(8*kib, 256*kib))
	l.Sessions = int32(r.between(1, 8))
	l.ProducerIDs = r.between(1, 5)
	l.Reserve = 1 << 20
	if p.Profile == "tiny" { // less than one batch each: what exceeds a whole budget is let in when it is empty
		l.Unwritten, l.Tails, l.Replies, l.Reads = r.between(1, 8)*kib, r.between(1, 12)*kib, r.between(1, 8)*kib, r.between(1, 8)*kib
		l.Journal, l.StoreBytes, l.CheckEvery, l.CarryMax = r.between(16, 64)*kib, r.between(1, 2000), r.between(1, 2000), r.between(1, 2000)
		l.IndexCache, l.ReplayBytes, l.FetchMax, l.Sessions = r.between(0, 2*kib), r.between(1, 500), int32(r.between(1, 4*kib)), 1
	}
	p.Limits = l
	p.Properties = []env.Property{{Name: "log.retention.check.interval.ms", Value: utoa(uint64(r.between(200, 1500)))}, {Name: "auto.create.topics.enable", Value: "false"}}
}

func drawDisk(r *roller, p *Plan) {
	micro, milli := env.Microsecond, env.Millisecond
	slow := env.Time(pick(r, 1, 1, 1, 4, 20))
	p.Disk = DiskPlan{
		Write:     Span{10 * micro, 500 * micro * slow},
		Sync:      Span{200 * micro, 10 * milli * slow},
		Store:     Span{50 * micro, 50 * milli * slow},
		StoreSync: Span{200 * micro, 100 * milli * slow},
		Read:      Span{50 * micro, 20 * milli * slow},
		Deliver:   Span{1 * micro, env.Time(r.between(1, 3000)) * micro},
		Age:       env.Time(r.between(5, 1000)) * milli,
		Free:      1 << 40, PieceBytes: r.between(256, 32<<10),
	}
}

func drawNet(r *roller, p *Plan) {
	p.Net = NetPlan{Latency: Span{20 * env.Microsecond, env.Time(r.between(1, 200)) * env.Millisecond}, Half: 500,
		LateBy: Span{100 * env.Millisecond, env.Time(r.between(1, 60)) * env.Second}}
	if p.Profile == "calm" {
		return
	}
	p.Net.Lost = int(r.below(6))
	p.Net.Replies = int(r.below(6))
	p.Net.Late = int(r.below(6))
	p.Net.Corrupt = int(r.below(8))
}

func drawTopics(r *roller, p *Plan) {
	config := func(t *TopicPlan, name string, value int64) {
		t.Configs = append(t.Configs, env.Property{Name: name, Value: utoa(uint64(value))})
	}
	segments := func(t *TopicPlan) {
		if p.Profile == "tiny" {
			config(t, "segment.ms", r.between(300, 2_000))
			return
		}
		config(t, "segment.ms", r.between(5_000, 60_000))
	}
	durable := TopicPlan{Name: "durable", Partitions: int32(r.between(1, 4))}
	if r.chance(700) {
		segments(&durable)
	}
	relaxed := TopicPlan{Name: "relaxed", Partitions: int32(r.between(1, 2))}
	relaxed.Configs = append(relaxed.Configs, env.Property{Name: "durability", Value: "written"})
	segments(&relaxed)
	kept := TopicPlan{Name: "retained", Partitions: int32(r.between(1, 2)), Purge: true}
	if r.chance(200) {
		config(&kept, "retention.bytes", r.between(4<<10, 64<<10))
	} else {
		config(&kept, "retention.ms", pick(r, 500, 500, 500, r.between(500, 2_000), r.between(5_000, 120_000)))
	}
	config(&kept, "segment.ms", pick(r, 300, r.between(300, 5_000), r.between(5_000, 60_000)))
	stamped := TopicPlan{Name: "stamped", Partitions: 1}
	stamped.Configs = append(stamped.Configs, env.Property{Name: "message.timestamp.type", Value: "LogAppendTime"})
	segments(&stamped)
	churn := TopicPlan{Name: "churn", Partitions: int32(r.between(1, 3)), Churn: true}
	p.Topics = []TopicPlan{durable, relaxed, kept, stamped, churn}
}

func drawClients(r *roller, p *Plan) {
	ms := env.Millisecond
	for i := range 6 {
		topic := pick(r, 0, 0, 0, 1, 2, 2, 3, 4)
		if i < len(p.Topics) {
			topic = i
		}
		if i == 5 {
			topic = 0
		}
		x := ProducerPlan{Topic: topic, Acks: pick(r, int16(-1), -1, -1, 1, 0), Every: env.Time(r.between(40, 160)) * ms,
			InFlight: int(r.between(1, int64(p.Limits.Producers))), Records: int(r.between(1, 6)), ValueBytes: int(r.between(20, 600)),
			Timeout: env.Time(r.between(2000, 15000)) * ms, Version: int16(r.between(3, 13)), Codecs: r.chance(400), Bumps: int(r.between(0, 30))}
		x.Idempotent = r.chance(500)
		if i == 0 || i == 5 {
			x.Acks, x.Idempotent = -1, i == 5 || r.chance(700)
		}
		if x.Idempotent {
			x.Acks = -1
		}
		if p.Topics[topic].Churn {
			x.Version = 13 // by topic id: a name may mean another topic when it arrives
		}
		p.Producers = append(p.Producers, x)
	}
	for i := range 6 {
		topic := i % len(p.Topics)
		x := ConsumerPlan{Topic: topic, Every: env.Time(r.between(50, 400)) * ms, MaxWait: int32(r.between(0, 1000)), MinBytes: int32(pick(r, 0, 1, 1, 500, 100000)),
			MaxBytes: int32(r.between(200, 64<<10)), Session: r.chance(600), Rewinds: int(r.between(0, 100)), Version: int16(r.between(4, 17)), Lists: int(r.between(10, 200))}
		if p.Topics[topic].Churn {
			x.Version = int16(r.between(13, 17))
		}
		p.Consumers = append(p.Consumers, x)
	}
	p.Admins = []AdminPlan{{Every: 500 * ms, Churn: []int{4}}, {Every: 900 * ms}}
	if r.chance(500) && p.Profile != "calm" {
		p.Vandals = []env.Time{env.Time(r.between(200, 3000)) * ms}
	}
}

func drawFaults(r *roller, p *Plan) {
	if p.Profile == "calm" {
		return
	}
	add := func(kind FaultKind, many int64, shortest, longest env.Time, n int64) {
		for range many {
			f := Fault{At: env.Second + env.Time(r.below(int64(p.Length-2*env.Second))), Kind: kind, N: 1 + r.below(n)}
			if longest > 0 {
				f.For = shortest + env.Time(r.below(int64(longest-shortest)))
			}
			p.Faults = append(p.Faults, f)
		}
	}
	ms, s := env.Millisecond, env.Second
	add(ProcessCrash, r.between(2, 4), 0, 0, 1)
	add(PowerLoss, r.between(1, 3), 0, 0, 1)
	add(CrashAtIO, r.between(0, 2), 0, 0, 40)
	add(PowerAtIO, r.between(1, 3), 0, 0, 40)
	add(CrashRecovery, r.between(0, 1), 0, 0, 12)
	add(PowerRecovery, r.between(0, 1), 0, 0, 12)
	if p.Profile == "crash" {
		add(ProcessCrash, r.between(3, 20), 0, 0, 1)
		add(PowerLoss, r.between(3, 20), 0, 0, 1)
		add(PowerAtIO, r.between(3, 20), 0, 0, 40)
	} else {
		add(SlowDisk, r.between(0, 2), 1*s, 20*s, 30)
		add(HungSync, r.between(1, 5), 1500*ms, 10*s, 1)
		add(HungDisk, r.between(0, 1), 100*ms, 20*s, 1)
		add(FullDisk, r.between(0, 1), 1*s, 20*s, 1)
		add(WallJump, r.between(0, 2), -100*s, 100*s, 1)
		add(Pause, r.between(0, 2), 10*ms, 5*s, 1)
		add(NetDown, r.between(0, 2), 10*ms, 5*s, 1)
		add(SlowReader, r.between(0, 1), 100*ms, 5*s, 1)
		add(QuietHours, r.between(0, 1), 60*s, 7200*s, 1)
		damage := 250
		if p.Profile == "disk" {
			damage = 600
			add(SlowDisk, r.between(1, 4), 1*s, 20*s, 30)
			add(HungSync, r.between(1, 4), 100*ms, 10*s, 1)
			add(HungDisk, r.between(1, 3), 100*ms, 20*s, 1)
			add(FullDisk, r.between(1, 3), 1*s, 20*s, 1)
		}
		if r.chance(damage) {
			add(BitRot, 1, 0, 0, 1)
		}
		if r.chance(damage) {
			at := 5*s + env.Time(r.below(int64(p.Length-10*s)))
			p.Faults = append(p.Faults, Fault{At: at, Kind: RotJournal}, Fault{At: at + env.Millisecond, Kind: pick(r, ProcessCrash, PowerLoss)})
		}
		if r.chance(damage) {
			p.Faults = append(p.Faults, Fault{At: 5*s + env.Time(r.below(int64(p.Length-10*s))), Kind: LoseEntry, For: env.Time(r.between(2000, 8000)) * env.Millisecond})
		}
		// A sync that hangs while power is lost: what was acknowledged meanwhile is lost with it.
		if r.chance(500) {
			at := 10*s + env.Time(r.below(int64(p.Length-30*s)))
			p.Faults = append(p.Faults, Fault{At: at, Kind: HungSync, For: 10 * s}, Fault{At: at + env.Time(r.between(1, 5000))*ms, Kind: PowerLoss})
		}
	}
	sort.SliceStable(p.Faults, func(i, j int) bool { return p.Faults[i].At < p.Faults[j].At })
}
