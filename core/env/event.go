package env

import "github.com/twmb/franz-go/pkg/kmsg"

// Time is a point in time or a span, in nanoseconds.
type Time int64

// Spans of time, for readable arithmetic.
const (
	Microsecond Time = 1_000
	Millisecond      = 1_000 * Microsecond
	Second           = 1_000 * Millisecond
	Minute           = 60 * Second
	Hour             = 60 * Minute
)

// Now is the time of one Step.
//
// Mono never runs backwards and orders deadlines; it starts anywhere in each
// life. Wall is nanoseconds since the Unix epoch, may jump both ways, and serves
// record timestamps, retention and expiry only.
type Now struct{ Mono, Wall Time }

// WallMillis is Wall as Kafka counts it: milliseconds since the Unix epoch.
func (n Now) WallMillis() int64 { return int64(n.Wall / Millisecond) }

// Seq is an entry's place in this shard's journal. The first is 1; 0 is "none".
type Seq uint64

// Names of things that live in one life of one broker. Each counts from 1.
type (
	ConnID uint64 // a client's connection, named by the driver
	CallID uint64 // a request to a peer
	ReadID uint64 // a read of a segment
	JobID  uint64 // a pure computation
)

// LogID names the log of one partition. The topic id is unique for ever, so a
// topic recreated under its old name has other logs. The zero LogID is the shard itself.
type LogID struct {
	Topic     [16]byte
	Partition int32
}

// SegmentKind says what a segment holds.
type SegmentKind uint8

// Data segments hold record batches back to back and, once sealed, a footer.
const Data SegmentKind = 0

// SegmentID names one segment file. It is used once, ever: Gen is the Seq of the
// entry that opened it, and an entry that was lost never had a Store.
type SegmentID struct {
	Topic     [16]byte
	Partition int32
	Kind      SegmentKind
	Base      int64 // the first offset it can hold
	Gen       uint64
}

// Log is the log that the segment belongs to.
func (s SegmentID) Log() LogID { return LogID{s.Topic, s.Partition} }

// Event is what a driver hands to Step. The set is closed.
type Event interface{ event() }

type (
	// Survived is one bounded piece of recovery. Segments come first, then each
	// log's last checkpoint, then the journal's entries in Seq order. All that is
	// handed over is synced already.
	Survived struct {
		Segments    []SegmentInfo
		Checkpoints []Entry
		Entries     []Entry
		Damage      []Damage
		Last        bool // no further piece will come
	}

	// Tick is due no later than WakeAt, and may come at any time.
	Tick struct{}

	// Opened begins a connection, and comes again when its principal changes.
	Opened struct {
		Conn                      ConnID
		Listener, Peer, Principal string
	}

	// Request is a client's (or peer's) decoded and verified request.
	Request struct {
		Conn     ConnID
		N        uint64 // 1, 2, 3, … of the connection, by the driver
		ClientID string
		Body     kmsg.Request
		Size     int // bytes of the frame it came in, for the budgets
		// Batches has one entry for each partition of a Produce, in request order.
		Batches []BatchInfo
		// Unsupported marks an ApiVersions request of an unknown version; its Body
		// is an empty request and the answer is error 35 in the v0 layout.
		Unsupported bool
	}

	// Sent tells that a reply's bytes have left.
	Sent struct {
		Conn ConnID
		N    uint64
	}

	// Hangup ends a connection: no reply to it will be sent any more.
	Hangup struct{ Conn ConnID }

	// Answer is a peer's answer to a Call. A nil Body: none will come.
	Answer struct {
		Call    CallID
		Body    kmsg.Response
		Batches []BatchInfo
	}

	// Journaled tells how far the journal has come; both numbers only rise, and
	// one event may confirm many entries. Written survives the death of the
	// process, Synced the loss of power. Synced <= Written.
	Journaled struct{ Written, Synced Seq }

	// Stored tells how far a segment file has come, in bytes; both numbers only
	// rise. From Written on a Read sees the bytes, so memory may go. Synced bytes
	// may be counted by a checkpoint.
	Stored struct {
		Segment         SegmentID
		Written, Synced int64
	}

	// Loaded answers a Read. Data may be shorter than asked where the file ends.
	Loaded struct {
		Read    ReadID
		Data    []byte
		Damaged bool // the medium refused or a checksum failed
	}

	// Done answers a Job. Nil Data: the job found its input impossible.
	Done struct {
		Job  JobID
		Data []byte
	}

	// Space tells the free bytes of the data directory's file system, when it changed much.
	Space struct{ Free int64 }
)

func (Survived) event()  {}
func (Tick) event()      {}
func (Opened) event()    {}
func (Request) event()   {}
func (Sent) event()      {}
func (Hangup) event()    {}
func (Answer) event()    {}
func (Journaled) event() {}
func (Stored) event()    {}
func (Loaded) event()    {}
func (Done) event()      {}
func (Space) event()     {}

// SegmentInfo is a segment file found at the start.
type SegmentInfo struct {
	ID   SegmentID
	Size int64 // bytes in the file
}

// Damage is a part of the journal that was synced and can not be read any more.
// A damaged payload is no Damage but an Entry with Damaged set.
type Damage struct {
	Logs  []LogID // the logs that may have lost entries; empty: any log may have
	After Seq     // the last sound Seq before it
	Upto  Seq     // the first sound Seq behind it; 0: none
}

// Codec is a record batch's compression, as in its attributes.
type Codec uint8

// Kafka's compression codecs.
const (
	None   Codec = 0
	Gzip   Codec = 1
	Snappy Codec = 2
	LZ4    Codec = 3
	Zstd   Codec = 4
)

// BatchInfo is what the door found out about the bytes given for one partition.
// Header fields that stand uncompressed in the batch are not repeated here.
type BatchInfo struct {
	Fault       int16  // 0, or the Kafka error code that refuses the batch
	Why         string // for people, when Fault is not 0
	Codec       Codec
	Count       int32 // records in the batch
	FirstTime   int64 // timestamp of the first record, ms
	MinTime     int64 // the smallest of its records' timestamps that are not -1, ms; -1: none
	MaxTime     int64 // the largest timestamp of its records, ms; -1: none
	MaxTimeAt   int32 // offset delta of the first record that has MaxTime
	Keyless     bool  // some record has a null key (refused on compacted topics)
	Transaction bool  // the transactional bit is set
}
