package sim

import "github.com/orrery-log/orrery/core/env"

// Witnesses are plans written by hand: each shows what one planted mistake does,
// and the clean core passes them all. They keep "not found" apart from "makes no
// difference".
var Witnesses = map[string]func(*Plan){
	// What is acknowledged or shown while no sync ends is lost with the power.
	"hung-sync": func(p *Plan) {
		p.Faults = []Fault{{At: 5 * env.Second, Kind: HungSync, For: 8 * env.Second}, {At: 9 * env.Second, Kind: PowerLoss}}
	},
	// A batch is stored, its answer is lost, the process dies: the batch comes again.
	"reply-lost-crash": func(p *Plan) {
		p.Net.Replies = 60
		p.Net.Latency.Max = 200 * env.Millisecond
		for i := range 12 {
			p.Faults = append(p.Faults, Fault{At: env.Time(i+2) * 2 * env.Second, Kind: ProcessCrash})
		}
	},
	// Segments are written fast and synced late; the power goes in between.
	"torn-segments": func(p *Plan) {
		p.Disk.Store, p.Disk.StoreSync = Span{50 * env.Microsecond, 200 * env.Microsecond}, Span{env.Second, 3 * env.Second}
		p.Limits.StoreBytes, p.Limits.CheckEvery, p.Limits.Journal = 2<<10, 1<<10, 32<<10
		for i := range 8 {
			p.Faults = append(p.Faults, Fault{At: env.Time(i+1)*3*env.Second + 700*env.Millisecond, Kind: PowerLoss})
		}
	},
	// The journal is small, its syncs are slow, checkpoints are many.
	"eager-cut": func(p *Plan) {
		p.Disk.Sync = Span{100 * env.Millisecond, 400 * env.Millisecond}
		p.Disk.StoreSync = Span{env.Millisecond, 5 * env.Millisecond}
		p.Limits.StoreBytes, p.Limits.CheckEvery, p.Limits.Journal = 1<<10, 512, 24<<10
		for i := range 10 {
			p.Faults = append(p.Faults, Fault{At: env.Time(i+1)*2*env.Second + 300*env.Millisecond, Kind: PowerLoss})
		}
	},
	// A payload in the journal is damaged; the next start finds it.
	"journal-damage": func(p *Plan) {
		p.Faults = []Fault{{At: 9 * env.Second, Kind: RotJournal}, {At: 9*env.Second + env.Millisecond, Kind: ProcessCrash}}
	},
	// Producers begin new epochs all the time.
	"epochs": func(p *Plan) {
		for i := range p.Producers {
			p.Producers[i].Bumps, p.Producers[i].Records = 300, 1
		}
	},
	// Records expire while nothing is committed.
	"retention-hung": func(p *Plan) {
		for i := range p.Topics {
			p.Topics[i].Configs = append(p.Topics[i].Configs, env.Property{Name: "retention.ms", Value: "1000"}, env.Property{Name: "segment.ms", Value: "400"})
		}
		p.Limits.StoreBytes = 512
		p.Faults = []Fault{{At: 8 * env.Second, Kind: HungSync, For: 9 * env.Second}}
	},
	// Consumers start anywhere, all the time, in segments with many runs.
	"rewinds": func(p *Plan) {
		p.Limits.IndexEvery, p.Limits.StoreBytes = 300, 1<<10
		for i := range p.Topics {
			p.Topics[i].Configs = append(p.Topics[i].Configs, env.Property{Name: "segment.ms", Value: "2000"})
		}
		for i := range p.Consumers {
			p.Consumers[i].Rewinds = 700
		}
	},
	// The process dies and comes back.
	"restarts": func(p *Plan) {
		for i := range 4 {
			p.Faults = append(p.Faults, Fault{At: env.Time(i+1) * 5 * env.Second, Kind: ProcessCrash})
		}
	},
	// After a restart the files are trimmed slowly, and consumers do not wait.
	"slow-trims": func(p *Plan) {
		p.Limits.StoreBytes, p.Limits.CheckEvery, p.Limits.Journal = 2<<10, 1<<10, 32<<10
		for i := range p.Consumers {
			p.Consumers[i].Rewinds = 700
		}
		for i := range 8 {
			at := env.Time(i+1) * 3 * env.Second
			p.Faults = append(p.Faults, Fault{At: at, Kind: ProcessCrash})
		}
		p.Disk.StoreSync = Span{300 * env.Millisecond, 2 * env.Second}
	},
	// Small tails are carried to the head of a small journal, and restarts find
	// some of their records at the old place and at the new one.
	"carries": func(p *Plan) {
		p.Limits.Journal, p.Limits.CarryMax, p.Limits.StoreBytes, p.Limits.StoreAge = 24<<10, 8<<10, 16<<10, env.Minute
		for i := range p.Producers {
			p.Producers[i].Every = 100 * env.Millisecond
		}
		p.Topics[0].Partitions = 4
		for i := range 12 {
			p.Faults = append(p.Faults, Fault{At: env.Time(i+1)*2*env.Second + 100*env.Millisecond, Kind: ProcessCrash})
		}
		p.Replays = 20
	},
	// Retention gives files up, and crashes come before they are gone.
	"expiry": func(p *Plan) {
		for i := range p.Topics {
			p.Topics[i].Configs = append(p.Topics[i].Configs, env.Property{Name: "retention.ms", Value: "2000"}, env.Property{Name: "segment.ms", Value: "500"})
		}
		p.Limits.StoreBytes = 512
		for i := range 12 {
			p.Faults = append(p.Faults, Fault{At: env.Time(i+1) * 2 * env.Second, Kind: PowerLoss})
		}
	},
	// Stores take their time.
	"slow-stores": func(p *Plan) {
		p.Disk.Store = Span{500 * env.Millisecond, 3 * env.Second}
		p.Limits.StoreBytes, p.Limits.Journal = 1<<10, 64<<10
		for i := range p.Consumers {
			p.Consumers[i].Rewinds = 300
		}
	},
}

// witness is the plan of that name.
func witness(name string, seed uint64) (*Plan, bool) {
	change, ok := Witnesses[name]
	if !ok {
		return nil, false
	}
	const kib = 1 << 10
	l := env.DefaultLimits()
	l.Unwritten, l.Tails, l.Journal, l.Reads, l.Replies = 256*kib, 256*kib, 512*kib, 128*kib, 256*kib
	l.IndexCache, l.StoreBytes, l.StoreAge, l.IndexEvery, l.CheckEvery = 16*kib, 4*kib, 500*env.Millisecond, 1000, 4*kib
	l.ReplayBytes, l.CarryMax, l.Producers, l.EpochMax, l.FetchMax, l.Reserve, l.ProducerIDs = 4*kib, kib, 5, 100, 64*kib, 1<<20, 10
	micro, milli := env.Microsecond, env.Millisecond
	p := &Plan{Seed: seed, Profile: "witness/" + name, Length: 30 * env.Second, Heal: 5 * env.Minute, Limits: l, Replays: 2,
		Properties: []env.Property{{Name: "log.retention.check.interval.ms", Value: "300"}, {Name: "auto.create.topics.enable", Value: "false"}},
		Disk: DiskPlan{Write: Span{10 * micro, 300 * micro}, Sync: Span{200 * micro, 2 * milli}, Store: Span{50 * micro, 5 * milli},
			StoreSync: Span{200 * micro, 10 * milli}, Read: Span{50 * micro, milli}, Deliver: Span{micro, 100 * micro}, Age: 50 * milli, Free: 1 << 40, PieceBytes: 4 * kib},
		Net:    NetPlan{Latency: Span{20 * micro, 5 * milli}, Half: 500, LateBy: Span{100 * milli, 5 * env.Second}},
		Topics: []TopicPlan{{Name: "durable", Partitions: 2}, {Name: "other", Partitions: 1}},
		Producers: []ProducerPlan{
			{Topic: 0, Acks: -1, Idempotent: true, Every: 20 * milli, InFlight: 5, Records: 3, ValueBytes: 200, Timeout: 3 * env.Second, Version: 9},
			{Topic: 0, Acks: -1, Every: 20 * milli, InFlight: 3, Records: 3, ValueBytes: 200, Timeout: 3 * env.Second, Version: 13},
			{Topic: 1, Acks: -1, Idempotent: true, Every: 20 * milli, InFlight: 5, Records: 2, ValueBytes: 300, Timeout: 3 * env.Second, Version: 7, Codecs: true},
		},
		Consumers: []ConsumerPlan{
			{Topic: 0, Every: 40 * milli, MaxWait: 100, MinBytes: 1, MaxBytes: 16 * kib, Session: true, Rewinds: 50, Version: 17, Lists: 100},
			{Topic: 1, Every: 40 * milli, MaxWait: 100, MinBytes: 1, MaxBytes: 8 * kib, Rewinds: 50, Version: 11, Lists: 100},
		},
		Admins: []AdminPlan{{Every: 300 * milli}},
	}
	change(p)
	return p, true
}
