package linearizability

import (
	"fmt"
	"io"
	"strings"
)

// Kind names an anomaly. Where Jepsen's Kafka workload has a name, it is used.
type Kind uint8

// The anomalies, the gravest first.
const (
	LostWrite           Kind = iota // acknowledged, and reads passed over its place
	InconsistentOffsets             // one offset had two values
	Corrupt                         // a record came back with other contents
	Duplicate                       // a record stands in the log more often than it may
	AbortedRead                     // Jepsen's G1a: a refused record was read
	Phantom                         // a record was read that nobody had sent yet
	TornBatch                       // a part of a batch is in the log
	NotLinearizable                 // offsets contradict the order in which requests were answered
	NonmonotonicSend                // one producer's records stand in another order than it sent them
	NonmonotonicPoll                // a consumer was led backwards
	PollSkip                        // a consumer was led past a record that others read
	StartMoved                      // the log's start passed records that nothing had removed
	Unseen                          // acknowledged, and the final read did not find it
	kinds
)

var kindNames = [kinds]string{
	LostWrite: "lost-write", InconsistentOffsets: "inconsistent-offsets", Corrupt: "corrupt",
	Duplicate: "duplicate", AbortedRead: "G1a", Phantom: "phantom", TornBatch: "torn-batch",
	NotLinearizable: "not-linearizable", NonmonotonicSend: "nonmonotonic-send",
	NonmonotonicPoll: "nonmonotonic-poll", PollSkip: "poll-skip", StartMoved: "start-moved", Unseen: "unseen",
}

// kindPromises say what was promised, for the person who reads the verdict.
var kindPromises = [kinds]string{
	LostWrite:           "a record acknowledged with acks=all is never lost, moved or changed",
	InconsistentOffsets: "one offset of a partition never shows two values to anyone",
	Corrupt:             "a record is read exactly as it was sent",
	Duplicate:           "an idempotent record is stored once, any other at most once for each time it was sent",
	AbortedRead:         "what was refused is not in the log",
	Phantom:             "only what was sent is in the log, and only after it was sent",
	TornBatch:           "a batch is appended whole or not at all",
	NotLinearizable:     "a request that began after another one was answered sees its effect: offsets only grow",
	NonmonotonicSend:    "one producer's records stand in the order in which it sent them",
	NonmonotonicPoll:    "a consumer's offsets only grow until it chooses another position",
	PollSkip:            "a consumer sees every record between two that it sees",
	StartMoved:          "a record vanishes only by retention or DeleteRecords",
	Unseen:              "a record acknowledged with acks=all is found by whoever reads to the end",
}

func (k Kind) String() string { return name(kindNames[:], int(k)) }

// Promise is the sentence that the anomaly breaks.
func (k Kind) Promise() string { return kindPromises[k] }

// Anomaly is one broken promise with what shows it.
type Anomaly struct {
	Kind      Kind
	Topic     string
	Partition int32
	Offset    int64  // where in the log, -1: nowhere in particular
	Record    uint64 // which record, 0: none in particular
	Text      string // what happened, one sentence
	Evidence  []Operation
}

// Outcome of a whole check.
type Judgement uint8

// What a check can come to. Undecided is never a pass.
const (
	Undecided Judgement = iota
	Holds
	Violated
)

// Verdict is what the checks came to.
type Verdict struct {
	Anomalies []Anomaly  // the first few of each kind, gravest kind first
	Count     [kinds]int // how many of each kind there are
	Doubts    []string   // why something could not be judged

	Partitions, Operations, Acknowledged, Read, Ends int // what was looked at; Ends: reads of the latest offset
}

// Judgement sums the verdict up. An anomaly outweighs a doubt.
func (v *Verdict) Judgement() Judgement {
	switch {
	case v.Total() > 0:
		return Violated
	case len(v.Doubts) > 0:
		return Undecided
	default:
		return Holds
	}
}

// Total is the number of anomalies of all kinds.
func (v *Verdict) Total() int {
	n := 0
	for _, c := range v.Count {
		n += c
	}
	return n
}

// Has says whether an anomaly of this kind was found.
func (v *Verdict) Has(k Kind) bool { return v.Count[k] > 0 }

// Add takes over what another check of the same history found.
func (v *Verdict) Add(w Verdict) {
	v.Anomalies = append(v.Anomalies, w.Anomalies...)
	sortAnomalies(v.Anomalies)
	for k, n := range w.Count {
		v.Count[k] += n
	}
	v.Doubts = append(v.Doubts, w.Doubts...)
}

// String is the whole report.
func (v *Verdict) String() string {
	var b strings.Builder
	v.Report(&b)
	return b.String()
}

// Report tells a person what was found: each anomaly with its promise and the
// events that show it.
func (v *Verdict) Report(w io.Writer) {
	for _, a := range v.Anomalies {
		fmt.Fprintf(w, "%s in %s\n", a.Kind, a.where())
		if a.Text != "" {
			fmt.Fprintf(w, "  %s\n", a.Text)
		}
		for i := range a.Evidence {
			fmt.Fprintf(w, "    %s\n", a.Evidence[i].String())
		}
		fmt.Fprintf(w, "  promised: %s.\n\n", a.Kind.Promise())
	}
	for _, d := range v.Doubts {
		fmt.Fprintf(w, "not decided: %s\n", d)
	}
	fmt.Fprintf(w, "%s: %s\n", v.headline(), v.scope())
}

func (a *Anomaly) where() string {
	if a.Offset < 0 {
		return fmt.Sprintf("%s/%d", a.Topic, a.Partition)
	}
	return fmt.Sprintf("%s/%d at offset %d", a.Topic, a.Partition, a.Offset)
}

func (v *Verdict) headline() string {
	switch v.Judgement() {
	case Violated:
		var parts []string
		for k, n := range v.Count {
			if n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", n, Kind(k)))
			}
		}
		return "VIOLATED (" + strings.Join(parts, ", ") + ")"
	case Undecided:
		return "UNKNOWN"
	default:
		return "HOLDS"
	}
}

func (v *Verdict) scope() string {
	return fmt.Sprintf("%d operations on %d partitions, %d records acknowledged, %d read, %d reads of the end",
		v.Operations, v.Partitions, v.Acknowledged, v.Read, v.Ends)
}

// String is the operation in one line, with the events that a person finds in
// the history file.
func (o *Operation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "event %d..", o.Invoke)
	if o.Return > 0 {
		fmt.Fprintf(&b, "%d", o.Return)
	}
	fmt.Fprintf(&b, "  process %d  %s %s", o.Process, o.Op, o.Outcome)
	switch o.Op {
	case Produce:
		fmt.Fprintf(&b, "  records %s", ids(o.Sent))
		if o.Acks != AcksAll {
			fmt.Fprintf(&b, "  acks %s", o.Acks)
		}
		if o.Idempotent {
			b.WriteString("  idempotent")
		}
		if o.Outcome == OK && o.Result.Base >= 0 {
			fmt.Fprintf(&b, "  at offset %d", o.Result.Base)
		}
	case Poll:
		if o.Offset >= 0 {
			fmt.Fprintf(&b, "  from %d", o.Offset)
		}
		if o.Outcome == OK {
			fmt.Fprintf(&b, "  gave %s", places(o.Result.Records))
			if o.Result.End >= 0 {
				fmt.Fprintf(&b, "  watermark %d", o.Result.End)
			}
		}
	case Latest:
		if o.Outcome == OK {
			fmt.Fprintf(&b, "  gave %d", o.Result.End)
		}
	case Delete:
		fmt.Fprintf(&b, "  before %d", o.Offset)
	}
	return b.String()
}

// ids lists records, the middle left out when there are many.
func ids(rs []Record) string {
	return list(len(rs), func(i int) string { return fmt.Sprint(rs[i].ID) })
}

// places lists records with their offsets.
func places(rs []Record) string {
	if len(rs) == 0 {
		return "nothing"
	}
	return list(len(rs), func(i int) string { return fmt.Sprintf("%d:%d", rs[i].Offset, rs[i].ID) })
}

func list(n int, at func(int) string) string {
	const shown = 8
	var parts []string
	for i := 0; i < n; i++ {
		if n > shown && i == shown/2 {
			parts = append(parts, fmt.Sprintf("… %d more …", n-shown))
			i = n - shown/2
		}
		parts = append(parts, at(i))
	}
	return "[" + strings.Join(parts, " ") + "]"
}
