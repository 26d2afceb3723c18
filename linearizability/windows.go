package linearizability

import (
	"fmt"
	"io"
	"time"

	"github.com/anishathalye/porcupine"
)

// windowSize is how many positions of the log porcupine looks at in one go.
const windowSize = 1000

// register is porcupine's state: the log's end and what stands before it, both
// comparable, so that a state costs nothing to keep.
type register struct {
	tail  int64
	chain uint64 // hash of all record ids before tail, in order
}

// move is porcupine's input: an append, a read of the end, or the close of a window.
type move struct {
	base, end int64
	chain     uint64 // append: hash of its record ids; close: what the chain must be
	kind      moveKind
	op        *Operation // for people
}

type moveKind uint8

const (
	moveAppend moveKind = iota
	moveRead
	moveClose
)

// mix adds one record to a chain of ids (the finalizer of a 64-bit hash, so that
// neither order nor repetition cancels out).
func mix(chain, id uint64) uint64 {
	x := chain*0x9e3779b97f4a7c15 + id + 0x2545f4914f6cdd1d
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// model is the append-only register.
func model(initial register) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return initial },
		Step: func(state, input, _ any) (bool, any) {
			s, m := state.(register), input.(move)
			switch m.kind {
			case moveAppend:
				return m.base == s.tail, register{m.end, mix(s.chain, m.chain)}
			case moveRead:
				return m.end == s.tail, s
			default:
				return m.end == s.tail && m.chain == s.chain, s
			}
		},
		DescribeOperation: func(input, _ any) string { return input.(move).String() },
		DescribeState: func(state any) string {
			return fmt.Sprintf("end %d", state.(register).tail)
		},
	}
}

func (m move) String() string {
	switch {
	case m.kind == moveClose:
		return fmt.Sprintf("the log so far ends at %d", m.end)
	case m.op == nil:
		return fmt.Sprintf("somebody's [%d, %d)", m.base, m.end)
	case m.kind == moveRead:
		return fmt.Sprintf("%s = %d (event %d)", m.op.Op, m.end, m.op.Invoke)
	default:
		return fmt.Sprintf("append [%d, %d) records %s (event %d)", m.base, m.end, ids(m.op.Sent), m.op.Invoke)
	}
}

// window is a run of the forced order that porcupine judges alone.
type window struct {
	initial register
	ops     []porcupine.Operation
	torn    bool // an operation has no time left between those before and those behind the window
	from    int64
	to      int64
}

// CheckWindows judges linearizability by porcupine, window by window: slower than
// Check and by another way. A window that takes longer than limit is a doubt.
func CheckWindows(h *History, opt Options, limit time.Duration) Verdict {
	return checkWindows(h, opt, limit, windowSize)
}

func checkWindows(h *History, opt Options, limit time.Duration, size int) Verdict {
	c := newFindings(opt)
	parts := split(h, &opt)
	for i := range parts {
		p := &parts[i]
		for _, w := range p.windows(c, size) {
			if w.torn {
				c.found(p, Anomaly{Kind: NotLinearizable, Offset: w.from,
					Text: fmt.Sprintf("Between offsets %d and %d an operation was answered before one began that has to come before it.", w.from, w.to)})
				continue
			}
			switch porcupine.CheckOperationsTimeout(model(w.initial), w.ops, limit) {
			case porcupine.Illegal:
				c.found(p, Anomaly{Kind: NotLinearizable, Offset: w.from,
					Text: fmt.Sprintf("Porcupine finds no order of the %d operations between offsets %d and %d that explains their answers.", len(w.ops)-1, w.from, w.to)})
			case porcupine.Unknown:
				c.doubt("%s/%d: porcupine did not finish offsets %d to %d within %v", p.topic, p.partition, w.from, w.to, limit)
			}
		}
	}
	c.verdict.Partitions, c.verdict.Operations = countPartitions(h), len(h.ops)
	return c.verdict
}

// windows cuts the partition's forced order. Only what lies outside of a window
// narrows the intervals inside it; the order within is porcupine's to find.
func (p *stretch) windows(c *findings, size int) []window {
	own := newFindings(c.opt) // the passes' findings are Check's to report
	log := p.observe(own)
	c.verdict.Acknowledged += own.verdict.Acknowledged
	c.verdict.Read += own.verdict.Read
	c.verdict.Ends += own.verdict.Ends
	steps := fillHoles(log.steps(&c.opt))
	if len(steps) == 0 {
		return nil
	}
	soonest := make([]int64, len(steps)+1) // soonest[i]: the earliest return of steps[i:]
	soonest[len(steps)] = never
	for i := len(steps) - 1; i >= 0; i-- {
		soonest[i] = min(soonest[i+1], steps[i].ret)
	}
	var windows []window
	chain, latest, tail := uint64(0), int64(0), steps[0].base
	for i, n := 0, 0; i < len(steps); i = n {
		n = min(i+size, len(steps))
		for n < len(steps) && steps[n].read && steps[n-1].read && steps[n].base == steps[n-1].base {
			n++ // reads of one end are in no order, so a cut between them would make one
		}
		part := steps[i:n]
		w := window{initial: register{tail, chain}, from: tail}
		next := latest
		for j := range part {
			s := &part[j]
			call, ret := max(s.call, latest), min(s.ret, soonest[n])
			w.torn = w.torn || call > ret
			w.ops = append(w.ops, porcupine.Operation{ClientId: j % 16, Input: s.move(log), Call: call, Return: ret})
			chain = log.follow(chain, s)
			next, tail = max(next, s.call), max(tail, s.end)
		}
		w.to = tail
		w.ops = append(w.ops, porcupine.Operation{Input: move{end: w.to, chain: chain, kind: moveClose}, Call: never + 1, Return: never + 2})
		windows = append(windows, w)
		latest = next
	}
	return windows
}

// fillHoles puts an append of nobody's where the log holds what this history does
// not know: records of others, markers, records never read. It had all the time
// in the world.
func fillHoles(steps []step) []step {
	if len(steps) == 0 {
		return nil
	}
	full := make([]step, 0, len(steps))
	tail := steps[0].base
	for _, s := range steps {
		if s.base > tail {
			full = append(full, step{base: tail, end: s.base, ret: never})
		}
		full = append(full, s)
		tail = max(tail, s.end)
	}
	return full
}

// move is the step for the model: what its client knows of it.
func (s *step) move(log *observed) move {
	m := move{base: s.base, end: s.end, op: s.op}
	switch {
	case s.read:
		m.kind = moveRead
	case s.op == nil:
	case s.ret == never: // one record of a produce that was not acknowledged
		m.chain = mix(0, log.at(s.base).id)
	default:
		for _, r := range s.op.Sent {
			m.chain = mix(m.chain, r.ID)
		}
	}
	return m
}

// follow is the chain behind a step by what the log shows there.
func (log *observed) follow(chain uint64, s *step) uint64 {
	if s.read {
		return chain
	}
	own := uint64(0)
	if s.op != nil {
		for offset := s.base; offset < s.end; offset++ {
			own = mix(own, log.at(offset).id)
		}
	}
	return mix(chain, own)
}

// Draw writes one HTML page that shows a window of a partition as porcupine sees
// it: the first that it finds illegal, else the first. Notes stand above it.
func Draw(h *History, opt Options, topic string, partition int32, w io.Writer) error {
	c := newFindings(opt)
	parts := split(h, &opt)
	var shown *window
	illegal := false
	for i := range parts {
		if parts[i].topic != topic || parts[i].partition != partition {
			continue
		}
		for _, win := range parts[i].windows(c, windowSize) {
			bad := win.torn || porcupine.CheckOperationsTimeout(model(win.initial), win.ops, drawLimit) != porcupine.Ok
			if shown == nil || bad && !illegal {
				shown, illegal = &win, bad
			}
		}
	}
	if shown == nil {
		return fmt.Errorf("%s/%d has no appends and no reads of the end in this history: there is nothing to draw", topic, partition)
	}
	if shown.torn {
		return fmt.Errorf("%s/%d contradicts itself across offsets %d to %d: no picture of one window shows that", topic, partition, shown.from, shown.to)
	}
	m := model(shown.initial)
	_, info := porcupine.CheckOperationsVerbose(m, shown.ops, drawLimit)
	var notes []porcupine.Annotation
	for _, n := range h.notes {
		notes = append(notes, porcupine.Annotation{Tag: "notes", Start: n.Event, Description: n.Kind.String() + " " + n.Text})
	}
	info.AddAnnotations(notes)
	return porcupine.Visualize(m, info, w)
}

// drawLimit bounds each of Draw's searches.
const drawLimit = 10 * time.Second
