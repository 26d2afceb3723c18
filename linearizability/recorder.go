package linearizability

import (
	"io"
	"sync"
)

// Recorder is a History for clients that run side by side. An Invoke must be
// recorded before the request leaves, a Done after the answer came: then the
// order of events never claims more than what happened.
type Recorder struct {
	mu sync.Mutex // held for one event at a time, never while a client waits
	h  History
}

// Invoke begins an operation and returns its event number.
func (r *Recorder) Invoke(o Operation) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.h.Invoke(o)
}

// Done ends the operation that Invoke began.
func (r *Recorder) Done(invoke int64, how Outcome, res Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Done(invoke, how, res)
}

// Note adds an event that no client made.
func (r *Recorder) Note(kind NoteKind, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Note(kind, text)
}

// Write writes what was recorded so far as a history file.
func (r *Recorder) Write(w io.Writer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.h.Write(w)
}

// History hands out what was recorded. Nobody may record any more.
func (r *Recorder) History() *History { return &r.h }

// Sum is a checksum of a record's contents (FNV-1a over the parts and their
// lengths, so that moving a byte from one part to the next changes it), never 0.
func Sum(parts ...[]byte) uint64 {
	const prime = 1099511628211
	sum := uint64(14695981039346656037)
	for _, p := range parts {
		for n := len(p); ; n >>= 8 {
			sum = (sum ^ uint64(n&0xff)) * prime
			if n < 256 {
				break
			}
		}
		for _, b := range p {
			sum = (sum ^ uint64(b)) * prime
		}
	}
	return max(sum, 1)
}
