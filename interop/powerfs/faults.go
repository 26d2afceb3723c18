package powerfs

import (
	"strings"
	"sync"
	"syscall"
	"time"
)

// Op is a kind of request that a fault can be put on.
type Op int

// The kinds.
const (
	OpWrite   Op = iota // writes and truncations
	OpSync              // fsync and fdatasync of a file
	OpSyncDir           // fsync of a directory
	OpName              // create, mkdir, rename, unlink
	OpRmdir             // rmdir
	OpAny               // any of these
)

func (o Op) String() string {
	return [...]string{"write", "fsync", "fsync of a directory", "change of a name", "rmdir", "any"}[o]
}

type faults struct {
	mu    sync.Mutex
	rules []*rule
}

// rule is one switched-on fault: it meets requests of one kind whose path begins with under.
type rule struct {
	op    Op
	under string
	skip  int           // requests that still pass
	left  int           // how many it meets; -1: all
	errno syscall.Errno // the answer
	delay time.Duration
	gate  chan struct{} // the request waits until it is closed
	met   int
	first chan struct{} // closed when the first request met it
}

func (f *FS) addRule(r *rule) *rule {
	r.first = make(chan struct{})
	f.faults.mu.Lock()
	defer f.faults.mu.Unlock()
	f.faults.rules = append(f.faults.rules, r)
	return r
}

// dropRule takes a rule out and lets go on what waits at it, once.
func (f *FS) dropRule(r *rule) {
	f.faults.mu.Lock()
	defer f.faults.mu.Unlock()
	for i, x := range f.faults.rules {
		if x == r {
			f.faults.rules = append(f.faults.rules[:i:i], f.faults.rules[i+1:]...)
			if r.gate != nil {
				close(r.gate)
			}
			return
		}
	}
}

// Fault is a switched-on fault.
type Fault struct {
	f *FS
	r *rule
}

// Met is closed when the first request has met the fault.
func (x Fault) Met() <-chan struct{} { return x.r.first }

// Count is how many requests have met it.
func (x Fault) Count() int {
	x.f.faults.mu.Lock()
	defer x.f.faults.mu.Unlock()
	return x.r.met
}

// Heal ends all faults but a full disk.
func (f *FS) Heal() {
	f.faults.mu.Lock()
	defer f.faults.mu.Unlock()
	for _, r := range f.faults.rules {
		if r.gate != nil {
			close(r.gate)
		}
	}
	f.faults.rules = nil
}

// End switches it off, and lets go on what waits.
func (x Fault) End() { x.f.dropRule(x.r) }

// Fail lets the n-th request from now (1 is the next) fail, and those behind it, so many times; -1 is until End. under
// is the beginning of a path, "" is everything. One write of a process may be several here: when a later one fails once,
// the process sees a short write, goes on, and notices nothing.
func (f *FS) Fail(op Op, under string, n, times int, errno syscall.Errno) Fault {
	return Fault{f, f.addRule(&rule{op: op, under: under, skip: n - 1, left: times, errno: errno})}
}

// Slow delays each request.
func (f *FS) Slow(op Op, under string, by time.Duration) Fault {
	return Fault{f, f.addRule(&rule{op: op, under: under, left: -1, delay: by})}
}

// Hang lets each request from the n-th on (1 is the next) wait until End.
func (f *FS) Hang(op Op, under string, n int) Fault {
	return Fault{f, f.addRule(&rule{op: op, under: under, skip: n - 1, left: -1, gate: make(chan struct{})})}
}

// Free makes this many bytes free, now; the disk's size changes for it.
func (f *FS) Free(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.capacity = f.used + bytes
}

// Room is how many bytes are free.
func (f *FS) Room() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.capacity - f.used
}

// Size sets the disk's size.
func (f *FS) Size(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.capacity = bytes
}

// before lets a request meet the faults. Nothing is locked while it waits.
func (f *FS) before(op Op, n *inode, name string) syscall.Errno {
	f.faults.mu.Lock()
	if len(f.faults.rules) == 0 {
		f.faults.mu.Unlock()
		return 0
	}
	f.faults.mu.Unlock()

	f.mu.Lock()
	path, dark := f.path(n), f.dark
	f.mu.Unlock()
	if name != "" && path != "" {
		path += "/"
	}
	path += name

	var errno syscall.Errno
	var delay time.Duration
	var gates []chan struct{}
	f.faults.mu.Lock()
	for _, r := range f.faults.rules {
		if r.op != op && r.op != OpAny || !strings.HasPrefix(path, r.under) || r.left == 0 {
			continue
		}
		if r.skip > 0 {
			r.skip--
			continue
		}
		if r.left > 0 {
			r.left--
		}
		if r.met++; r.met == 1 {
			close(r.first)
		}
		errno = max(errno, r.errno)
		delay += r.delay
		if r.gate != nil {
			gates = append(gates, r.gate)
		}
	}
	f.faults.mu.Unlock()
	if delay > 0 {
		time.Sleep(delay)
	}
	for _, gate := range gates {
		select {
		case <-gate:
		case <-dark:
		}
	}
	return errno
}
