package linearizability

import "fmt"

// History is what clients did and saw, in the order in which it happened. The
// zero History is empty and ready. It is not safe for concurrent use; a Recorder is.
type History struct {
	ops   []Operation   // by Invoke
	notes []Note        // by Event
	open  map[int64]int // invoke event -> index in ops, of operations that did not return yet
	last  int64         // the last event number given
}

// Op is what was asked for.
type Op uint8

// What a client can ask for.
const (
	Produce Op = iota // append Records as one batch
	Poll              // fetch from Offset
	Latest            // ListOffsets, latest
	Delete            // DeleteRecords before Offset
	Assign            // the consumer's position is chosen anew
)

// Outcome is how an operation ended.
type Outcome uint8

// How an operation can end. Unknown comes first: what did not return is unknown.
const (
	Unknown Outcome = iota // it may have happened, or may yet
	OK                     // it happened
	Fail                   // it did not happen and will not
)

// Acks is what a producer waits for.
type Acks uint8

// What a producer can wait for. AcksAll comes first: the promises are about it.
const (
	AcksAll Acks = iota
	AcksOne
	AcksNone
)

// Record is one record as a client knows it.
type Record struct {
	ID     uint64 // names its contents for ever; 0: somebody else's record
	Offset int64  // where it was read; not meaningful in a produce
	Sum    uint64 // checksum of all that was sent, 0: none
}

// Operation is one request to one partition and what became of it.
type Operation struct {
	Process   int64
	Op        Op
	Topic     string
	Partition int32

	// Offset: of a Poll the position asked for, -1 where the consumer stands; of a
	// Delete the first offset that stays.
	Offset int64
	// Sent are the records of a Produce, one batch.
	Sent []Record
	// Acks and Idempotent describe the producer. An idempotent process is one
	// producer session.
	Acks       Acks
	Idempotent bool

	Invoke  int64 // its event number, > 0
	Return  int64 // the event number of its end, > Invoke; 0: it did not return
	Outcome Outcome
	Result  Result // meaningful when it returned
}

// Result is what came back. Use NoResult as the start: 0 is an offset.
type Result struct {
	// Base is the offset of a Produce's first record, -1 when not told.
	Base int64
	// Attempts is how often a Produce was sent: 0 counts as 1, -1 is not known.
	Attempts int
	// Records are a Poll's, in the order in which they came.
	Records []Record
	// End is the latest offset of a Latest, the high watermark told to a Poll, or -1.
	End int64
	// Start is the log start told to a Poll, or -1.
	Start int64
}

// NoResult tells nothing.
func NoResult() Result { return Result{Base: -1, End: -1, Start: -1} }

// NoteKind sorts notes.
type NoteKind uint8

// What a note can say.
const (
	Remark    NoteKind = iota // for people
	PowerLoss                 // machines lost power
	Final                     // from here on every partition was read to its end
)

// Note is an event that no client made.
type Note struct {
	Event int64
	Kind  NoteKind
	Text  string
}

// Invoke begins an operation and returns its event number. Only what a client
// knows at that time is read from o.
func (h *History) Invoke(o Operation) int64 {
	h.invokeAt(h.last+1, o)
	return h.last
}

func (h *History) invokeAt(event int64, o Operation) {
	if o.Op == Produce && len(o.Sent) == 0 {
		panic(fmt.Sprintf("linearizability: a produce of process %d to %s/%d has no records", o.Process, o.Topic, o.Partition))
	}
	h.last = event
	o.Invoke, o.Return, o.Outcome, o.Result = event, 0, Unknown, NoResult()
	if h.open == nil {
		h.open = make(map[int64]int)
	}
	h.open[event] = len(h.ops)
	h.ops = append(h.ops, o)
}

// Done ends the operation that Invoke began and returns the event number.
func (h *History) Done(invoke int64, how Outcome, r Result) int64 {
	h.doneAt(h.last+1, invoke, how, r)
	return h.last
}

func (h *History) doneAt(event, invoke int64, how Outcome, r Result) {
	i, ok := h.open[invoke]
	if !ok {
		panic(fmt.Sprintf("linearizability: event %d ends event %d, which is not open", event, invoke))
	}
	o := &h.ops[i]
	if o.Op == Produce && o.Acks == AcksAll && how == OK && r.Base < 0 {
		panic(fmt.Sprintf("linearizability: the produce of event %d was acknowledged (acks=all) without an offset", invoke))
	}
	delete(h.open, invoke)
	h.last = event
	o.Return, o.Outcome, o.Result = event, how, r
}

// Note adds an event that no client made.
func (h *History) Note(kind NoteKind, text string) int64 {
	h.last++
	h.notes = append(h.notes, Note{h.last, kind, text})
	return h.last
}

// Operations are all operations by Invoke. The slice belongs to the History.
func (h *History) Operations() []Operation { return h.ops }

// Notes are all notes by Event. The slice belongs to the History.
func (h *History) Notes() []Note { return h.notes }

// Events is the number of the last event.
func (h *History) Events() int64 { return h.last }

var (
	opNames      = [...]string{Produce: "produce", Poll: "poll", Latest: "latest", Delete: "delete", Assign: "assign"}
	outcomeNames = [...]string{Unknown: "unknown", OK: "ok", Fail: "fail"}
	acksNames    = [...]string{AcksAll: "all", AcksOne: "1", AcksNone: "0"}
	noteNames    = [...]string{Remark: "note", PowerLoss: "power-loss", Final: "final"}
)

func (o Op) String() string       { return name(opNames[:], int(o)) }
func (o Outcome) String() string  { return name(outcomeNames[:], int(o)) }
func (a Acks) String() string     { return name(acksNames[:], int(a)) }
func (k NoteKind) String() string { return name(noteNames[:], int(k)) }

func name(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("?%d", i)
}
