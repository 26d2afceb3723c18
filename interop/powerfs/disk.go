package powerfs

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"sync"
	"syscall"
	"time"
)

const (
	pageSize   = 4096
	sectorSize = 512
)

// Disk is a tree of files with what of it would survive a loss of power.
type Disk struct {
	mu       sync.Mutex
	root     *node
	last     uint64 // the latest inode number
	capacity int64
	faults   faults
	lost     Lost
}

// faults are what the test has ordered.
type faults struct {
	writes, syncs int64         // how many go well before one fails; negative: all do
	failed        bool          // one has failed: every later one does, as on a dead disk
	slow          time.Duration // before each write and each sync
	hung          chan struct{} // closed when the disk answers again; nil: it does
}

// Lost counts what the losses of power took.
type Lost struct {
	Kept, Gone, Torn, Zeroed int // pages that were not synced
	Entries                  int // changes of directories that were not synced and went
}

// node is a file, or a directory if entries is not nil.
type node struct {
	ino  uint64
	mode uint32

	data  []byte         // as the process sees it
	safe  []byte         // as of the last fsync
	dirty map[int64]bool // pages written since

	entries     map[string]*node
	safeEntries map[string]*node // as of the last fsync of the directory
	changes     []change         // since
}

// change is one change of a directory: a new entry, a removal, or a rename, as one.
type change struct {
	name string
	node *node  // nil: name was removed
	from string // not empty: it was renamed from there, within this directory
	twin int64  // both halves of a rename between directories share it
}

// New is an empty disk of a size in bytes.
func New(capacity int64) *Disk {
	d := &Disk{capacity: capacity}
	d.faults = faults{writes: -1, syncs: -1}
	d.root = d.newNode(syscall.S_IFDIR | 0o755)
	return d
}

func (d *Disk) newNode(mode uint32) *node {
	d.last++
	n := &node{ino: d.last, mode: mode}
	if mode&syscall.S_IFMT == syscall.S_IFDIR {
		n.entries, n.safeEntries = map[string]*node{}, map[string]*node{}
	} else {
		n.dirty = map[int64]bool{}
	}
	return n
}

func (n *node) isDir() bool { return n.entries != nil }

// used counts the bytes of all files, in whole pages as a real disk does.
func (d *Disk) used() int64 {
	var sum func(n *node) int64
	sum = func(n *node) int64 {
		var total int64
		for _, c := range n.entries {
			total += sum(c)
		}
		return total + (int64(len(n.data))+pageSize-1)/pageSize*pageSize
	}
	return sum(d.root)
}

// write is pwrite.
func (d *Disk) write(n *node, at int64, b []byte) syscall.Errno {
	d.wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.strikes(&d.faults.writes) {
		return syscall.EIO
	}
	end := at + int64(len(b))
	if grow := end - int64(len(n.data)); grow > 0 && d.used()+grow > d.capacity {
		return syscall.ENOSPC
	}
	n.grow(end)
	copy(n.data[at:], b)
	n.touch(at, end)
	return 0
}

func (n *node) grow(end int64) {
	if old := int64(len(n.data)); end > old {
		n.data = append(n.data, make([]byte, end-old)...)
		n.touch(old, end)
	}
}

func (n *node) touch(from, to int64) {
	for p := from / pageSize; p*pageSize < to; p++ {
		n.dirty[p] = true
	}
}

// resize is ftruncate and fallocate.
func (d *Disk) resize(n *node, size int64) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.strikes(&d.faults.writes) {
		return syscall.EIO
	}
	if grow := size - int64(len(n.data)); grow > 0 && d.used()+grow > d.capacity {
		return syscall.ENOSPC
	}
	if size < int64(len(n.data)) {
		n.touch(size, int64(len(n.data)))
		n.data = n.data[:size:size]
		return 0
	}
	n.grow(size)
	return 0
}

// sync is fsync of a file or a directory.
func (d *Disk) sync(n *node) syscall.Errno {
	d.wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.strikes(&d.faults.syncs) {
		return syscall.EIO
	}
	n.syncAll()
	return 0
}

func (n *node) syncAll() {
	if n.isDir() {
		n.safeEntries = map[string]*node{}
		for name, c := range n.entries {
			n.safeEntries[name] = c
		}
		n.changes = nil
		return
	}
	if len(n.data) < len(n.safe) {
		n.safe = n.safe[:len(n.data)]
	}
	n.safe = append(n.safe, make([]byte, len(n.data)-len(n.safe))...)
	for p := range n.dirty {
		if from := p * pageSize; from < int64(len(n.data)) {
			to := min(from+pageSize, int64(len(n.data)))
			copy(n.safe[from:to], n.data[from:to])
		}
	}
	clear(n.dirty)
}

// strikes tells whether this operation fails; left counts down to the failure.
func (d *Disk) strikes(left *int64) bool {
	if d.faults.failed {
		return true
	}
	if *left < 0 {
		return false
	}
	if *left == 0 {
		d.faults.failed = true
		return true
	}
	*left--
	return false
}

// wait is what a slow or hung disk does before it answers.
func (d *Disk) wait() {
	d.mu.Lock()
	slow, hung := d.faults.slow, d.faults.hung
	d.mu.Unlock()
	if hung != nil {
		<-hung
	}
	if slow > 0 {
		time.Sleep(slow)
	}
}

// FailWrites lets n more writes pass; then each write and sync fails with EIO until Heal.
func (d *Disk) FailWrites(n int64) { d.set(func(f *faults) { f.writes = n }) }

// FailSyncs lets n more syncs pass; then each write and sync fails with EIO until Heal.
func (d *Disk) FailSyncs(n int64) { d.set(func(f *faults) { f.syncs = n }) }

// Slow delays each write and sync.
func (d *Disk) Slow(by time.Duration) { d.set(func(f *faults) { f.slow = by }) }

// Hang lets no write and no sync end until Heal.
func (d *Disk) Hang() { d.set(func(f *faults) { f.hung = make(chan struct{}) }) }

// Heal ends all faults but a full disk.
func (d *Disk) Heal() {
	d.set(func(f *faults) {
		if f.hung != nil {
			close(f.hung)
		}
		*f = faults{writes: -1, syncs: -1}
	})
}

// Resize changes the disk's capacity.
func (d *Disk) Resize(capacity int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.capacity = capacity
}

// Used is how many bytes are in use.
func (d *Disk) Used() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used()
}

// Failed tells whether a write or sync has failed since the last Heal.
func (d *Disk) Failed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.faults.failed
}

func (d *Disk) set(f func(*faults)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(&d.faults)
}

// Lost is what all losses of power so far took.
func (d *Disk) Lost() Lost {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lost
}

// Files lists all files with their sizes, by path.
func (d *Disk) Files() map[string]int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[string]int64{}
	d.walk("", d.root, func(path string, n *node) { all[path] = int64(len(n.data)) })
	return all
}

func (d *Disk) walk(path string, n *node, f func(path string, n *node)) {
	for _, name := range sorted(n.entries) {
		c := n.entries[name]
		at := path + "/" + name
		if c.isDir() {
			d.walk(at, c, f)
		} else {
			f(at, c)
		}
	}
}

// Flip flips one bit of a file, as a medium that forgets does.
func (d *Disk) Flip(path string, bit int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := false
	d.walk("", d.root, func(at string, n *node) {
		if at == path && bit/8 < int64(len(n.data)) {
			n.data[bit/8] ^= 1 << (bit % 8)
			if bit/8 < int64(len(n.safe)) {
				n.safe[bit/8] = n.data[bit/8]
			}
			found = true
		}
	})
	if !found {
		panic(fmt.Sprintf("powerfs: no bit %d in %s", bit, path))
	}
}

// Bytes is a copy of a file's content, nil if there is none.
func (d *Disk) Bytes(path string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	var b []byte
	d.walk("", d.root, func(at string, n *node) {
		if at == path {
			b = append([]byte{}, n.data...)
		}
	})
	return b
}

func sorted(m map[string]*node) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// PowerLoss makes the tree one that may be left when power goes now. No process
// may have the disk mounted: what it would see is gone.
func (d *Disk) PowerLoss(rng *rand.Rand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	keptMoves := map[int64]bool{}
	d.root = d.survivor(rng, d.root, keptMoves)
}
