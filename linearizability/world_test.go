package linearizability

// world is a correct log with clients: whatever it records holds.
type world struct {
	draw    func(n int) int // a number in [0, n)
	h       History
	log     []Record
	pending []*call
	nextID  uint64
	clients int
	cursor  map[int64]int64 // consumers that let the client keep their position
}

// call is a request under way: it takes effect once, or never, before it is answered.
type call struct {
	invoke int64
	o      Operation
	r      Result
	done   bool
}

func newWorld(clients int, draw func(n int) int) *world {
	return &world{draw: draw, clients: clients, cursor: make(map[int64]int64)}
}

// run takes the given number of steps and ends all but a few calls.
func (w *world) run(steps int) {
	for range steps {
		switch d := w.draw(3); {
		case len(w.pending) < w.clients && d == 0:
			w.begin()
		case len(w.pending) > 0:
			w.proceed(w.draw(len(w.pending)))
		}
	}
}

func (w *world) begin() {
	o := Operation{Topic: "t", Process: int64(w.draw(w.clients))}
	switch w.draw(5) {
	case 0, 1:
		o.Op, o.Idempotent = Produce, o.Process%2 == 0
		if o.Idempotent && w.busy(o.Process) {
			return // several in flight of one session would have to stay in order
		}
		for range 1 + w.draw(3) {
			w.nextID++
			o.Sent = append(o.Sent, Record{ID: w.nextID, Sum: w.nextID * 7})
		}
	case 2, 3:
		o.Op, o.Offset = Poll, int64(w.draw(len(w.log)+1))
		if o.Process += 1000; o.Process%3 == 0 {
			if o.Offset = -1; w.busy(o.Process) {
				return
			}
		}
	case 4:
		o.Op = Latest
	}
	w.pending = append(w.pending, &call{invoke: w.h.Invoke(o), o: o, r: NoResult()})
}

func (w *world) busy(process int64) bool {
	for _, c := range w.pending {
		if c.o.Process == process {
			return true
		}
	}
	return false
}

// proceed lets a call take effect, or ends it.
func (w *world) proceed(i int) {
	c := w.pending[i]
	if !c.done && w.draw(8) > 0 {
		w.apply(c)
		return
	}
	how := OK
	switch {
	case !c.done && w.draw(2) == 0:
		how = Fail
	case !c.done || w.draw(10) == 0:
		how = Unknown
	}
	w.pending = append(w.pending[:i], w.pending[i+1:]...)
	if how == OK {
		if c.o.Op == Poll && c.o.Offset < 0 && len(c.r.Records) > 0 {
			w.cursor[c.o.Process] = c.r.Records[len(c.r.Records)-1].Offset + 1
		}
		w.h.Done(c.invoke, OK, c.r)
		return
	}
	w.h.Done(c.invoke, how, NoResult())
}

func (w *world) apply(c *call) {
	c.done = true
	switch c.o.Op {
	case Produce:
		c.r.Base = int64(len(w.log))
		for _, r := range c.o.Sent {
			r.Offset = int64(len(w.log))
			w.log = append(w.log, r)
		}
	case Latest:
		c.r.End = int64(len(w.log))
	case Poll:
		from := c.o.Offset
		if from < 0 {
			from = w.cursor[c.o.Process]
		}
		to := min(from+int64(w.draw(20)), int64(len(w.log)))
		c.r.Records = append(c.r.Records, w.log[from:max(from, to)]...)
		c.r.End = int64(len(w.log))
	}
}

// finish reads the whole log once more, as a careful recorder does.
func (w *world) finish() *History {
	w.h.Note(Final, "")
	for from := 0; from < len(w.log); from += 500 {
		r := NoResult()
		r.Records = append(r.Records, w.log[from:min(from+500, len(w.log))]...)
		w.h.Done(w.h.Invoke(Operation{Process: 5000, Op: Poll, Topic: "t", Offset: int64(from)}), OK, r)
	}
	return &w.h
}
