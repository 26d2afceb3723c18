package sim

import (
	"fmt"

	"github.com/orrery-log/orrery/core/env"
)

// Plan is a whole run as plain values: what the broker is told, what clients do
// and what goes wrong. A seed only draws a Plan and the small decisions under
// its rates, so a Plan can be printed, edited and made smaller.
type Plan struct {
	Seed    uint64
	Profile string
	Length  env.Time // the safety phase: faults end here
	Heal    env.Time // within this time after it everything must be answered

	Limits     env.Limits
	Properties []env.Property
	Disk       DiskPlan
	Net        NetPlan
	Topics     []TopicPlan
	Producers  []ProducerPlan
	Consumers  []ConsumerPlan
	Admins     []AdminPlan
	Vandals    []env.Time // how often each sends something hostile
	Faults     []Fault

	Copies  int // permille of Steps after which the run goes on with a copy of the broker
	Replays int // how many times a restarted copy is compared with the live broker
	Linger  int // permille of Steps whose effects wait for those of the next Steps
}

// Span is a range of times to draw from.
type Span struct{ Min, Max env.Time }

// DiskPlan says how the disk behaves while nothing special is wrong with it.
type DiskPlan struct {
	Write, Sync, Store, StoreSync, Read Span
	Deliver                             Span // from done to told
	Age                                 env.Time
	Free                                int64
	PieceBytes                          int64 // of Survived
}

// NetPlan says how the network behaves while nothing special is wrong with it.
type NetPlan struct {
	Latency Span
	Lost    int // permille of requests in whose flight the connection is lost
	Corrupt int // permille of produced batches in which a bit changes on the way
	Half    int // permille of those of which half a frame arrives
	Replies int // permille of replies that are lost with their connection
	Late    int // permille of requests that their client gives up and that arrive late
	LateBy  Span
}

// TopicPlan is a topic that clients use.
type TopicPlan struct {
	Name       string
	Partitions int32
	Configs    []env.Property
	Churn      bool // it is deleted and created again
	Purge      bool // records of it are deleted
}

// Relaxed tells whether records are acknowledged when they are written, not synced.
func (t TopicPlan) Relaxed() bool { return t.setting("durability") == "written" }

func (t TopicPlan) setting(name string) string {
	for _, c := range t.Configs {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

// ProducerPlan is a simulated producer.
type ProducerPlan struct {
	Topic      int // index into Topics
	Acks       int16
	Idempotent bool
	InFlight   int
	Every      env.Time // between two batches
	Records    int      // at most, in one batch
	ValueBytes int      // at most, in one record
	Timeout    env.Time // then the request is given up and sent again
	Version    int16
	Codecs     bool // compressed batches too
	Bumps      int  // permille of batches after which it asks for the next epoch
}

// ConsumerPlan is a simulated consumer of all partitions of a topic.
type ConsumerPlan struct {
	Topic    int
	Every    env.Time // pause between two fetches
	MaxWait  int32    // ms
	MinBytes int32
	MaxBytes int32
	Session  bool
	Rewinds  int // permille of fetches after which it starts elsewhere
	Version  int16
	Lists    int // permille of fetches before which it asks ListOffsets
}

// AdminPlan is a simulated administrator.
type AdminPlan struct {
	Every env.Time
	Churn []int // indexes of the topics that it deletes and creates
}

// FaultKind names what goes wrong.
type FaultKind string

// The kinds of faults that are scheduled; loss, delay and late copies of
// messages are rates in NetPlan.
const (
	ProcessCrash  FaultKind = "process-crash"  // page cache kept
	PowerLoss     FaultKind = "power-loss"     // what was not synced is lost in any part
	CrashAtIO     FaultKind = "crash-at-io"    // a process crash after the N-th next effect of the disk
	PowerAtIO     FaultKind = "power-at-io"    // a power loss there
	SlowDisk      FaultKind = "slow-disk"      // everything takes N times as long, for a time
	HungSync      FaultKind = "hung-sync"      // nothing is synced for a time
	HungDisk      FaultKind = "hung-disk"      // no I/O ends for a time
	FullDisk      FaultKind = "full-disk"      // free space is under the reserve, for a time
	WallJump      FaultKind = "wall-jump"      // the wall clock moves by For, which may be negative
	Pause         FaultKind = "pause"          // the process stands still for a time
	NetDown       FaultKind = "net-down"       // every connection is lost and none can be made, for a time
	BitRot        FaultKind = "bit-rot"        // a bit of a synced segment changes
	RotJournal    FaultKind = "rot-journal"    // a synced journal entry is damaged at the next restart
	LoseEntry     FaultKind = "lose-entry"     // a synced journal entry is gone, header and all; an operator accepts the loss after For
	SlowReader    FaultKind = "slow-reader"    // replies do not leave for a time
	QuietHours    FaultKind = "quiet-hours"    // clients rest and time jumps ahead by For
	CrashRecovery FaultKind = "crash-recovery" // a process crash in the N-th Step of the next recovery
	PowerRecovery FaultKind = "power-recovery" // a power loss there
)

// FaultKinds lists all of them in the order of reports.
var FaultKinds = []FaultKind{ProcessCrash, PowerLoss, CrashAtIO, PowerAtIO, CrashRecovery, PowerRecovery,
	SlowDisk, HungSync, HungDisk, FullDisk, WallJump, Pause, NetDown, BitRot, RotJournal, LoseEntry, SlowReader, QuietHours}

// Fault is one thing that goes wrong at a time.
type Fault struct {
	At   env.Time
	Kind FaultKind
	For  env.Time
	N    int64
}

func (f Fault) String() string {
	return fmt.Sprintf("%s at %v for %v n %d", f.Kind, stamp(f.At), stamp(f.For), f.N)
}

// stamp prints a time in seconds.
func stamp(t env.Time) string {
	sign := ""
	if t < 0 {
		sign, t = "-", -t
	}
	return fmt.Sprintf("%s%d.%06d", sign, t/env.Second, t%env.Second/env.Microsecond)
}
