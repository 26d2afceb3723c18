package linearizability

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// LineMax is how long a line of a history file may be.
const LineMax = 16 << 20

// offsetMax leaves room for arithmetic; no log is that long.
const offsetMax = int64(1) << 60

// line is one line of a history file; see FORMAT in the package's documentation.
type line struct {
	Event      int64        `json:"event"`
	Type       string       `json:"type"`
	Of         int64        `json:"of,omitempty"`
	Process    *int64       `json:"process,omitempty"`
	Op         string       `json:"op,omitempty"`
	Topic      string       `json:"topic,omitempty"`
	Partition  int32        `json:"partition,omitempty"`
	Offset     *int64       `json:"offset,omitempty"`
	Records    []lineRecord `json:"records,omitempty"`
	Acks       string       `json:"acks,omitempty"`
	Idempotent bool         `json:"idempotent,omitempty"`
	Attempts   int          `json:"attempts,omitempty"`
	End        *int64       `json:"end,omitempty"`
	Start      *int64       `json:"start,omitempty"`
	Text       string       `json:"text,omitempty"`
}

type lineRecord struct {
	ID     uint64 `json:"id"`
	Offset *int64 `json:"offset,omitempty"`
	Sum    uint64 `json:"sum,omitempty"`
}

// Read reads a history file. It holds one line at a time besides the history
// itself; an error names the line and what is wrong with it.
func Read(r io.Reader) (*History, error) {
	h := &History{}
	lines := bufio.NewReaderSize(r, 64<<10)
	var buf []byte
	for n := 1; ; n++ {
		var err error
		buf, err = nextLine(lines, buf[:0])
		if err == io.EOF {
			return h, nil
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if len(bytes.TrimSpace(buf)) == 0 {
			continue
		}
		if err := h.readLine(buf); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// nextLine appends the next line to buf, without its end. The last line needs none.
func nextLine(r *bufio.Reader, buf []byte) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(buf)+len(part) > LineMax+1 {
			return buf, fmt.Errorf("longer than %d bytes", LineMax)
		}
		buf = append(buf, part...)
		switch {
		case err == bufio.ErrBufferFull:
		case err == io.EOF && len(buf) > 0, err == nil:
			return bytes.TrimSuffix(buf, []byte("\n")), nil
		default:
			return buf, err
		}
	}
}

func (h *History) readLine(text []byte) error {
	var l line
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return sayJSON(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("more than one JSON object")
	}
	if l.Event <= h.last {
		return fmt.Errorf("event %d does not come after event %d: event numbers must increase from line to line", l.Event, h.last)
	}
	switch l.Type {
	case "invoke":
		return h.readInvoke(&l)
	case "ok", "fail", "unknown":
		return h.readDone(&l)
	case "note":
		kind, ok := lookUp(noteNames[:], l.Op)
		if !ok {
			return fmt.Errorf("note %q is not known: power-loss, final or note", l.Op)
		}
		h.last = l.Event
		h.notes = append(h.notes, Note{l.Event, NoteKind(kind), l.Text})
		return nil
	default:
		return fmt.Errorf("type %q is not known: invoke, ok, fail, unknown or note", l.Type)
	}
}

func sayJSON(err error) error {
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) {
		return fmt.Errorf("%q can not hold a %s", typ.Field, typ.Value)
	}
	if err == io.ErrUnexpectedEOF {
		return errors.New("the JSON object ends in its middle")
	}
	return fmt.Errorf("not an event as FORMAT tells: %w", err)
}

func (h *History) readInvoke(l *line) error {
	op, ok := lookUp(opNames[:], l.Op)
	switch {
	case !ok:
		return fmt.Errorf("op %q is not known: produce, poll, latest, delete or assign", l.Op)
	case l.Process == nil:
		return errors.New("an invoke needs a process")
	case l.Topic == "":
		return errors.New("an invoke needs a topic")
	case l.Partition < 0:
		return fmt.Errorf("partition %d is negative", l.Partition)
	case l.Of != 0:
		return errors.New("an invoke ends nothing: it has no \"of\"")
	case l.End != nil || l.Start != nil || l.Attempts != 0:
		return errors.New("end, start and attempts are results: they belong to the line that ends the operation")
	}
	o := Operation{Process: *l.Process, Op: Op(op), Topic: l.Topic, Partition: l.Partition, Idempotent: l.Idempotent}
	if l.Acks != "" {
		acks, ok := lookUp(acksNames[:], l.Acks)
		if !ok {
			return fmt.Errorf("acks %q is not known: \"all\", \"1\" or \"0\"", l.Acks)
		}
		o.Acks = Acks(acks)
	}
	if o.Op != Produce && (l.Acks != "" || l.Idempotent || len(l.Records) > 0) {
		return fmt.Errorf("records, acks and idempotent belong to a produce, not to the invoke of a %s", o.Op)
	}
	switch o.Op {
	case Produce:
		if len(l.Records) == 0 {
			return errors.New("a produce needs its records")
		}
		if l.Offset != nil {
			return errors.New("the offset of a produce is a result: it belongs to the ok")
		}
		for i, r := range l.Records {
			if r.ID == 0 {
				return fmt.Errorf("record %d has no id above 0", i)
			}
			if r.Offset != nil {
				return fmt.Errorf("record %d has an offset before it was appended", i)
			}
			o.Sent = append(o.Sent, Record{ID: r.ID, Sum: r.Sum})
		}
	case Poll, Delete:
		o.Offset = -1
		if l.Offset != nil {
			o.Offset = *l.Offset
		}
		if o.Offset < -1 || o.Offset > offsetMax {
			return fmt.Errorf("offset %d is not between -1 and %d", o.Offset, offsetMax)
		}
	}
	h.invokeAt(l.Event, o)
	return nil
}

func (h *History) readDone(l *line) error {
	i, ok := h.open[l.Of]
	if !ok {
		return fmt.Errorf("it ends event %d, which is no operation that is still open", l.Of)
	}
	o := &h.ops[i]
	how, _ := lookUp(outcomeNames[:], l.Type)
	switch {
	case l.Op != "" && l.Op != o.Op.String():
		return fmt.Errorf("it is a %s, and event %d is a %s", l.Op, l.Of, o.Op)
	case l.Process != nil && *l.Process != o.Process:
		return fmt.Errorf("it is of process %d, and event %d is of process %d", *l.Process, l.Of, o.Process)
	case l.Topic != "" && l.Topic != o.Topic:
		return fmt.Errorf("it is of topic %q, and event %d is of topic %q", l.Topic, l.Of, o.Topic)
	case l.Attempts < -1:
		return fmt.Errorf("attempts %d is below -1", l.Attempts)
	}
	r := NoResult()
	r.Attempts = l.Attempts
	if l.End != nil {
		r.End = *l.End
	}
	if l.Start != nil {
		r.Start = *l.Start
	}
	if r.End < -1 || r.Start < -1 || max(r.End, r.Start) > offsetMax {
		return fmt.Errorf("end and start are offsets up to %d, or -1", offsetMax)
	}
	if l.Type != "ok" {
		h.doneAt(l.Event, l.Of, Outcome(how), r)
		return nil
	}
	switch o.Op {
	case Produce:
		if l.Offset != nil {
			r.Base = *l.Offset
		}
		if r.Base < -1 || r.Base > offsetMax || r.Base < 0 && o.Acks == AcksAll {
			return fmt.Errorf("an acknowledged produce (acks all) needs its offset, up to %d", offsetMax)
		}
	case Poll:
		for n, rec := range l.Records {
			if rec.Offset == nil || *rec.Offset < 0 || *rec.Offset > offsetMax {
				return fmt.Errorf("record %d of the poll needs its offset, up to %d", n, offsetMax)
			}
			r.Records = append(r.Records, Record{ID: rec.ID, Offset: *rec.Offset, Sum: rec.Sum})
		}
	case Latest:
		if r.End < 0 {
			return errors.New("an answered latest needs its end")
		}
	}
	h.doneAt(l.Event, l.Of, OK, r)
	return nil
}

func lookUp(names []string, name string) (int, bool) {
	for i, n := range names {
		if n == name {
			return i, true
		}
	}
	return 0, false
}

// Write writes the history as a file that Read reads.
func (h *History) Write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, l := range h.lines() {
		var text line
		switch {
		case l.note != nil:
			text = line{Event: l.event, Type: "note", Op: l.note.Kind.String(), Text: l.note.Text}
		case l.event == l.op.Invoke:
			text = invokeLine(l.op)
		default:
			text = doneLine(l.op)
		}
		if err := enc.Encode(&text); err != nil {
			return err
		}
	}
	return out.Flush()
}

// moment is one event of a history: an operation's invoke or end, or a note.
type moment struct {
	event int64
	op    *Operation
	note  *Note
}

// lines are all events in order.
func (h *History) lines() []moment {
	all := make([]moment, 0, 2*len(h.ops)+len(h.notes))
	for i := range h.ops {
		o := &h.ops[i]
		all = append(all, moment{o.Invoke, o, nil})
		if o.Return > 0 {
			all = append(all, moment{o.Return, o, nil})
		}
	}
	for i := range h.notes {
		all = append(all, moment{h.notes[i].Event, nil, &h.notes[i]})
	}
	slices.SortFunc(all, func(a, b moment) int { return cmp.Compare(a.event, b.event) })
	return all
}

func invokeLine(o *Operation) line {
	l := line{Event: o.Invoke, Type: "invoke", Process: &o.Process, Op: o.Op.String(), Topic: o.Topic, Partition: o.Partition}
	switch o.Op {
	case Produce:
		l.Idempotent = o.Idempotent
		if o.Acks != AcksAll {
			l.Acks = o.Acks.String()
		}
		for _, r := range o.Sent {
			l.Records = append(l.Records, lineRecord{ID: r.ID, Sum: r.Sum})
		}
	case Poll, Delete:
		l.Offset = &o.Offset
	}
	return l
}

func doneLine(o *Operation) line {
	l := line{Event: o.Return, Type: o.Outcome.String(), Of: o.Invoke, Attempts: o.Result.Attempts}
	told := func(offset *int64) *int64 {
		if *offset < 0 {
			return nil
		}
		return offset
	}
	l.Start, l.End = told(&o.Result.Start), told(&o.Result.End)
	if o.Op == Produce {
		l.Offset = told(&o.Result.Base)
	}
	for i := range o.Result.Records {
		r := &o.Result.Records[i]
		l.Records = append(l.Records, lineRecord{r.ID, &r.Offset, r.Sum})
	}
	return l
}
