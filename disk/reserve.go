package disk

import (
	"errors"
	"os"
	"sync"
	"syscall"
)

// reserve keeps descriptors back for what must not fail because the process has
// no more: the library is dead for good when a roll of the journal gets none.
type reserve struct {
	mu    sync.Mutex
	files []*os.File
}

const reserved = 6

func (r *reserve) refill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.files) < reserved {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return // the next one tries again
		}
		r.files = append(r.files, f)
	}
}

func (r *reserve) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.files {
		f.Close()
	}
	r.files = r.files[:0]
}

// lend runs f, and once more with the reserve given up if there was no descriptor.
func (r *reserve) lend(f func() error) error {
	err := f()
	if !noDescriptor(err) {
		return err
	}
	r.release()
	defer r.refill()
	return f()
}

func noDescriptor(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
