package powerfs

import (
	"path"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	pageSize = 4096
	sector   = 512
)

// FS is the tree, what of it is synced, and the faults that are switched on.
type FS struct {
	mu       sync.Mutex
	root     *inode
	lastIno  uint64
	names    []*naming // name changes that no fsync of a directory covers yet, in order
	used     int64     // bytes of pages that a name or an open file holds
	capacity int64
	dark     chan struct{} // closed when the power goes: from then on nothing takes effect
	ended    chan struct{} // closed when the requests that the dark caught are to fail
	counts   Counts

	faults faults
	mount  mount
}

// Counts are what was done since New.
type Counts struct{ Writes, Bytes, Syncs, DirSyncs, Names int64 }

// inode is a file or a directory. It lives as long as the tree, the synced tree or the kernel knows it.
type inode struct {
	ino    uint64
	dir    bool
	mode   uint32
	mtime  time.Time
	parent *inode // where its name stood last, for paths
	name   string
	linked bool // a name in the tree holds it
	opens  int  // open files

	// Of a file.
	pages      []*page // by number; nil is a hole
	dirty      map[int]struct{}
	size       int64
	syncedSize int64

	// Of a directory.
	entries map[string]*inode
	synced  map[string]*inode
}

// page is 4 KiB of a file, as it is read and as the medium holds it. Both may be one array: it is copied before the
// next write. nil is zeros.
type page struct {
	now, synced *[pageSize]byte
	dirty       []extent // bytes of now that the medium may not hold; sorted, disjoint
}

type extent struct{ lo, hi int }

// naming is one change of names: it happens whole or not at all, an unsynced one possibly not, whatever came later.
type naming struct {
	from  place  // this name goes, when there is one
	to    place  // this name comes to stand for what, when there is one
	what  *inode // nil: nothing comes
	clear bool   // from is meant
}

type place struct {
	dir  *inode
	name string
}

// New is an empty file system with room for 64 GiB.
func New() *FS {
	f := &FS{lastIno: 1, capacity: 64 << 30, dark: make(chan struct{}), ended: make(chan struct{})}
	f.root = &inode{ino: 1, dir: true, mode: 0o755, mtime: time.Now(), linked: true, entries: map[string]*inode{}, synced: map[string]*inode{}}
	return f
}

// Counts tells what was done since New.
func (f *FS) Counts() Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts
}

// enter takes the lock for a change. It does not when the power is off: then the request waits, so that its process
// learns nothing, until that process is as good as dead.
func (f *FS) enter() syscall.Errno {
	f.mu.Lock()
	select {
	case <-f.dark:
	default:
		return 0
	}
	ended := f.ended
	f.mu.Unlock()
	<-ended
	return syscall.EIO
}

func (f *FS) path(n *inode) string {
	var parts []string
	for ; n != nil && n != f.root; n = n.parent {
		parts = append(parts, n.name)
	}
	slices.Reverse(parts)
	return path.Join(parts...)
}

// create makes a file or a directory.
func (f *FS) create(dir *inode, name string, mode uint32, isDir bool) (*inode, syscall.Errno) {
	if e := f.before(OpName, dir, name); e != 0 {
		return nil, e
	}
	if e := f.enter(); e != 0 {
		return nil, e
	}
	defer f.mu.Unlock()
	if dir.entries[name] != nil {
		return nil, syscall.EEXIST
	}
	if f.used+pageSize > f.capacity {
		return nil, syscall.ENOSPC
	}
	f.lastIno++
	n := &inode{ino: f.lastIno, dir: isDir, mode: mode & 0o7777, mtime: time.Now()}
	if isDir {
		n.entries, n.synced = map[string]*inode{}, map[string]*inode{}
	} else {
		n.dirty = map[int]struct{}{}
	}
	f.change(&naming{to: place{dir, name}, what: n})
	return n, 0
}

// remove takes a name away.
func (f *FS) remove(dir *inode, name string, isDir bool) syscall.Errno {
	op := OpName
	if isDir {
		op = OpRmdir
	}
	if e := f.before(op, dir, name); e != 0 {
		return e
	}
	if e := f.enter(); e != 0 {
		return e
	}
	defer f.mu.Unlock()
	n := dir.entries[name]
	switch {
	case n == nil:
		return syscall.ENOENT
	case isDir && !n.dir:
		return syscall.ENOTDIR
	case !isDir && n.dir:
		return syscall.EISDIR
	case isDir && len(n.entries) > 0:
		return syscall.ENOTEMPTY
	}
	f.change(&naming{from: place{dir, name}, clear: true})
	return 0
}

func (f *FS) rename(fromDir *inode, from string, toDir *inode, to string, replace bool) syscall.Errno {
	if e := f.before(OpName, toDir, to); e != 0 {
		return e
	}
	if e := f.enter(); e != 0 {
		return e
	}
	defer f.mu.Unlock()
	n, old := fromDir.entries[from], toDir.entries[to]
	switch {
	case n == nil:
		return syscall.ENOENT
	case old == n:
		return 0
	case old != nil && !replace:
		return syscall.EEXIST
	case old != nil && old.dir && !n.dir:
		return syscall.EISDIR
	case old != nil && !old.dir && n.dir:
		return syscall.ENOTDIR
	case old != nil && old.dir && len(old.entries) > 0:
		return syscall.ENOTEMPTY
	}
	f.change(&naming{from: place{fromDir, from}, to: place{toDir, to}, what: n, clear: true})
	return 0
}

// change does a naming in the tree, and keeps it until a directory's fsync covers it.
func (f *FS) change(c *naming) {
	f.counts.Names++
	f.names = append(f.names, c)
	if c.clear {
		n := c.from.dir.entries[c.from.name]
		delete(c.from.dir.entries, c.from.name)
		c.from.dir.mtime = time.Now()
		if c.what == nil {
			n.linked = false
			f.letGo(n)
		}
	}
	if c.what != nil {
		if old := c.to.dir.entries[c.to.name]; old != nil {
			old.linked = false
			f.letGo(old)
		}
		c.to.dir.entries[c.to.name] = c.what
		c.to.dir.mtime = time.Now()
		c.what.parent, c.what.name, c.what.linked = c.to.dir, c.to.name, true
	}
}

// apply does a naming in the synced tree.
func (c *naming) apply() {
	if c.clear {
		delete(c.from.dir.synced, c.from.name)
	}
	if c.what != nil {
		c.to.dir.synced[c.to.name] = c.what
	}
}

// letGo gives a file's room back when neither a name nor an open file holds it.
func (f *FS) letGo(n *inode) {
	if n.dir || n.linked || n.opens > 0 {
		return
	}
	for _, p := range n.pages {
		if p != nil && p.now != nil {
			f.used -= pageSize
		}
	}
}

func (f *FS) open(n *inode) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n.opens++
}

func (f *FS) release(n *inode) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n.opens == 0 {
		return // an unmount was faster
	}
	n.opens--
	f.letGo(n)
}

// closeAll closes what an unmount has closed: the kernel does not always tell.
func (f *FS) closeAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used = 0
	f.walk(func(_ string, n *inode) {
		n.opens = 0
		for _, p := range n.pages {
			if p != nil && p.now != nil {
				f.used += pageSize
			}
		}
	})
}

// write puts data at an offset. A write that fails may have put a part of it there.
func (f *FS) write(n *inode, at int64, data []byte) (int, syscall.Errno) {
	fault := f.before(OpWrite, n, "")
	if fault != 0 {
		data = data[:len(data)/2]
	}
	if e := f.enter(); e != 0 {
		return 0, e
	}
	defer f.mu.Unlock()
	put := 0
	for put < len(data) {
		pos := at + int64(put)
		lo := int(pos % pageSize)
		k := min(pageSize-lo, len(data)-put)
		p := f.writable(n, int(pos/pageSize))
		if p == nil {
			break
		}
		copy(p.now[lo:], data[put:put+k])
		p.dirty = merge(p.dirty, extent{lo, lo + k})
		put += k
	}
	if put > 0 {
		n.size = max(n.size, at+int64(put))
		n.mtime = time.Now()
	}
	f.counts.Writes++
	f.counts.Bytes += int64(put)
	if fault != 0 {
		return 0, fault
	}
	if put == 0 && len(data) > 0 {
		return 0, syscall.ENOSPC
	}
	return put, 0
}

// writable is a page whose array the medium does not share, or nil when there is no room for it.
func (f *FS) writable(n *inode, number int) *page {
	for len(n.pages) <= number {
		n.pages = append(n.pages, nil)
	}
	p := n.pages[number]
	if p == nil {
		p = &page{}
		n.pages[number] = p
	}
	switch {
	case p.now == nil:
		if f.used+pageSize > f.capacity {
			return nil
		}
		f.used += pageSize
		p.now = new([pageSize]byte)
	case p.now == p.synced:
		own := *p.now
		p.now = &own
	}
	n.dirty[number] = struct{}{}
	return p
}

func (f *FS) read(n *inode, at int64, buf []byte) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at >= n.size {
		return 0
	}
	buf = buf[:min(int64(len(buf)), n.size-at)]
	for done := 0; done < len(buf); {
		pos := at + int64(done)
		lo := int(pos % pageSize)
		k := min(pageSize-lo, len(buf)-done)
		part := buf[done : done+k]
		if i := int(pos / pageSize); i < len(n.pages) && n.pages[i] != nil && n.pages[i].now != nil {
			copy(part, n.pages[i].now[lo:])
		} else {
			clear(part)
		}
		done += k
	}
	return len(buf)
}

// truncate sets the size. What is cut off stays on the medium until the next fsync.
func (f *FS) truncate(n *inode, size int64) syscall.Errno {
	if e := f.before(OpWrite, n, ""); e != 0 {
		return e
	}
	if e := f.enter(); e != 0 {
		return e
	}
	defer f.mu.Unlock()
	f.cutTo(n, size)
	n.mtime = time.Now()
	return 0
}

func (f *FS) cutTo(n *inode, size int64) {
	for i := int(size / pageSize); i < len(n.pages); i++ {
		p, lo := n.pages[i], 0
		if i == int(size/pageSize) {
			lo = int(size % pageSize)
		}
		if p == nil || p.now == nil {
			continue
		}
		if lo == 0 {
			p.now = nil
			f.used -= pageSize
		} else {
			own := *p.now
			clear(own[lo:])
			p.now = &own
		}
		p.dirty = merge(p.dirty, extent{lo, pageSize})
		n.dirty[i] = struct{}{}
	}
	n.size = size
}

// sync makes a file's bytes and its size durable; its name is not its business.
func (f *FS) sync(n *inode) syscall.Errno {
	fault := f.before(OpSync, n, "")
	if e := f.enter(); e != 0 {
		return e
	}
	defer f.mu.Unlock()
	f.counts.Syncs++
	for i := range n.dirty {
		p := n.pages[i]
		if fault == 0 {
			p.synced = p.now
		} else {
			// The kernel gives the pages up: they read as the medium has them, they are clean, and the next fsync
			// finds nothing to do. The size stays.
			if p.now == nil && p.synced != nil {
				f.used += pageSize
			} else if p.now != nil && p.synced == nil {
				f.used -= pageSize
			}
			p.now = p.synced
		}
		p.dirty = nil
	}
	clear(n.dirty)
	n.syncedSize = n.size
	return fault
}

// syncDir makes the names of a directory durable, and nothing else.
func (f *FS) syncDir(dir *inode) syscall.Errno {
	fault := f.before(OpSyncDir, dir, "")
	if e := f.enter(); e != 0 {
		return e
	}
	defer f.mu.Unlock()
	f.counts.DirSyncs++
	rest := f.names[:0]
	for _, c := range f.names {
		if fault == 0 && (c.from.dir == dir || c.to.dir == dir) {
			c.apply()
		} else {
			rest = append(rest, c)
		}
	}
	clear(f.names[len(rest):])
	f.names = rest
	return fault
}

// merge adds an extent to sorted disjoint ones.
func merge(all []extent, e extent) []extent {
	out := all[:0:0]
	for _, x := range all {
		if x.hi < e.lo || x.lo > e.hi {
			out = append(out, x)
		} else {
			e = extent{min(x.lo, e.lo), max(x.hi, e.hi)}
		}
	}
	out = append(out, e)
	slices.SortFunc(out, func(a, b extent) int { return a.lo - b.lo })
	return out
}
