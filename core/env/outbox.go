package env

import "github.com/twmb/franz-go/pkg/kmsg"

// Outbox is what one or more Steps want done. The driver owns and empties it;
// its slices keep their memory. See law 3: nothing in it is ordered but by Seq,
// lane and N.
type Outbox struct {
	Journal []Entry     // appended in Seq order
	Cuts    []Seq       // entries before it are no longer needed; never confirmed
	Stores  []Store     // lazy writes of segment bytes
	Reads   []Read      // each is answered by one Loaded
	Drops   []SegmentID // segment files to remove; never confirmed
	Trims   []Trim      // recovery only; each is confirmed by Stored{End, End}
	Jobs    []Job       // each is answered by one Done
	Calls   []Call      // each is answered by one Answer
	Replies []Reply     // exactly one for each Request of a live connection
	Notes   []Note      // they change nothing
	More    bool        // recovery: the next piece of Survived, please
}

// Reset empties the Outbox and keeps its memory. Pointers are cleared, so that
// a long life does not pin old frames.
func (o *Outbox) Reset() {
	clear(o.Journal)
	clear(o.Stores)
	clear(o.Jobs)
	clear(o.Calls)
	clear(o.Replies)
	clear(o.Notes)
	o.Journal, o.Cuts, o.Stores, o.Reads, o.Drops = o.Journal[:0], o.Cuts[:0], o.Stores[:0], o.Reads[:0], o.Drops[:0]
	o.Trims, o.Jobs, o.Calls, o.Replies, o.Notes = o.Trims[:0], o.Jobs[:0], o.Calls[:0], o.Replies[:0], o.Notes[:0]
	o.More = false
}

// Entry is one entry of the journal. Header and Payload have a checksum each on
// the disk, so that a damaged payload still tells what it was.
type Entry struct {
	Seq        Seq
	Log        LogID // the log that it speaks of
	Checkpoint bool  // it says all that earlier entries of Log said, except records not yet stored
	Sync       bool  // someone waits for the medium
	Damaged    bool  // in Survived only: the payload's checksum failed, Payload is nil
	Header     []byte
	Payload    []byte
}

// Size is the entry's bytes as the journal's budget counts them.
func (e *Entry) Size() int64 { return int64(len(e.Header)+len(e.Payload)) + EntryOverhead }

// EntryOverhead is what a journal entry costs beyond its header and payload, in bytes, at most.
const EntryOverhead = 64

// Store writes Data at byte At of a segment. The Stores of a segment lie back to
// back. Sync hurries the flush. A Seal takes effect when all bytes before it are
// written: then the file is complete and is never written again.
type Store struct {
	Segment SegmentID
	At      int64
	Data    [][]byte // written one after the other
	Seal    bool
	Sync    bool
}

// Read asks for up to MaxBytes bytes at byte At of a segment.
type Read struct {
	Read     ReadID
	Segment  SegmentID
	At       int64
	MaxBytes int32
}

// Trim cuts a segment file to End bytes and syncs that. A file that does not
// exist is created when End is 0.
type Trim struct {
	Segment SegmentID
	End     int64
}

// JobKind says what a Job computes. Every kind is a pure function of Data and Args.
type JobKind uint8

const (
	// Recompress turns the batch Data into the codec Args[0] at the level Args[1]
	// (0: the codec's default); Done.Data is the new batch.
	Recompress JobKind = 1
	// FindTime looks in the batch Data for the first record whose timestamp is at
	// least Args[0] and whose offset is at least Args[1]; Done.Data is its offset
	// and timestamp (two big-endian int64), or empty when there is none.
	FindTime JobKind = 2
)

// Job is a pure computation that costs CPU: any goroutine, any order.
type Job struct {
	Job  JobID
	Kind JobKind
	Data []byte
	Args [2]int64
}

// Peer names one shard of one node.
type Peer struct{ Node, Shard int32 }

// Call is a request to a peer. Order holds within a lane; lanes never wait for each other.
type Call struct {
	Call CallID
	To   Peer
	Lane uint64
	Body kmsg.Request
}

// ReplyKind says what a connection gets for a request.
type ReplyKind uint8

const (
	Body   ReplyKind = iota // the response in Body
	Silent                  // nothing: an acks=0 produce
	Close                   // the connection is closed once the earlier replies have left
)

// Reply ends the N-th request of a connection. The driver sends replies in the
// order of N. Until Mono passes MuteUntil the connection's next request is not
// read (0: go on).
type Reply struct {
	Conn      ConnID
	N         uint64
	Kind      ReplyKind
	Body      kmsg.Response
	MuteUntil Time
}

// NoteKind sorts notes.
type NoteKind uint8

const (
	Info  NoteKind = iota // worth a log line
	Warn                  // somebody should look
	Count                 // a metric: Name rises by Value
	Gauge                 // a metric: Name is now Value
	Mark                  // coverage: this place was reached
	Ready                 // recovery is over: clients are answered from now on
	Stop                  // this life can not serve; Text says why and what to do
)

// Note tells people and metrics; it changes nothing.
type Note struct {
	Kind  NoteKind
	Name  string // a constant, so that noting costs no allocation
	Text  string
	Log   LogID
	Value int64
}
