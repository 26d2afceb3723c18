package powerfs

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Available tells whether this machine lets us mount.
func Available() error {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("file systems in user space are not available: %w", err)
	}
	return f.Close()
}

// Mount shows the disk under a folder until Unmount.
type Mount struct {
	server *fuse.Server
}

// Mount mounts the disk. Nothing is cached by the kernel, so that each system
// call of the process arrives here before it returns.
func (d *Disk) Mount(dir string) (*Mount, error) {
	zero := time.Duration(0)
	d.mu.Lock()
	root := &inode{disk: d, node: d.root}
	d.mu.Unlock()
	server, err := fs.Mount(dir, root, &fs.Options{
		EntryTimeout: &zero, AttrTimeout: &zero, NegativeTimeout: &zero,
		MountOptions: fuse.MountOptions{FsName: "powerfs", DirectMount: true, AllowOther: os.Geteuid() == 0, MaxWrite: 1 << 20},
	})
	if err != nil {
		return nil, err
	}
	return &Mount{server}, nil
}

// Unmount takes the disk away; the processes that used it have ended.
func (m *Mount) Unmount() error {
	var err error
	for range 200 {
		if err = m.server.Unmount(); err == nil {
			m.server.Wait()
			return nil
		}
		time.Sleep(10 * time.Millisecond) // the kernel lets go of a killed process's files a little later
	}
	return err
}

// inode is one node as the kernel knows it.
type inode struct {
	fs.Inode
	disk *Disk
	node *node
}

// handle is one open file: its bytes are read and written past the kernel's cache.
type handle struct {
	in   *inode
	tail bool // opened with O_APPEND
}

var (
	_ fs.NodeLookuper   = (*inode)(nil)
	_ fs.NodeCreater    = (*inode)(nil)
	_ fs.NodeMkdirer    = (*inode)(nil)
	_ fs.NodeUnlinker   = (*inode)(nil)
	_ fs.NodeRmdirer    = (*inode)(nil)
	_ fs.NodeRenamer    = (*inode)(nil)
	_ fs.NodeReaddirer  = (*inode)(nil)
	_ fs.NodeOpener     = (*inode)(nil)
	_ fs.NodeGetattrer  = (*inode)(nil)
	_ fs.NodeSetattrer  = (*inode)(nil)
	_ fs.NodeFsyncer    = (*inode)(nil)
	_ fs.NodeStatfser   = (*inode)(nil)
	_ fs.FileReader     = (*handle)(nil)
	_ fs.FileWriter     = (*handle)(nil)
	_ fs.FileFsyncer    = (*handle)(nil)
	_ fs.FileAllocater  = (*handle)(nil)
	_ fs.FileFlusher    = (*handle)(nil)
	_ fs.NodeAllocater  = (*inode)(nil)
	_ fs.NodeOpendirer  = (*inode)(nil)
	_ fs.NodeGetxattrer = (*inode)(nil)
)

func (i *inode) child(ctx context.Context, n *node) *fs.Inode {
	return i.NewInode(ctx, &inode{disk: i.disk, node: n}, fs.StableAttr{Mode: n.mode & syscall.S_IFMT, Ino: n.ino})
}

func (n *node) fill(a *fuse.Attr) {
	a.Ino, a.Mode, a.Nlink, a.Blksize = n.ino, n.mode, 1, pageSize
	a.Size = uint64(len(n.data))
	a.Blocks = (a.Size + 511) / 512
}

func (i *inode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	i.disk.mu.Lock()
	defer i.disk.mu.Unlock()
	c, ok := i.node.entries[name]
	if !ok {
		return nil, syscall.ENOENT
	}
	c.fill(&out.Attr)
	return i.child(ctx, c), 0
}

// add puts a new node into the directory; the disk is locked.
func (i *inode) add(name string, mode uint32) *node {
	c := i.disk.newNode(mode)
	i.node.entries[name] = c
	i.node.changes = append(i.node.changes, change{name: name, node: c})
	return c
}

func (i *inode) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	i.disk.mu.Lock()
	defer i.disk.mu.Unlock()
	if i.disk.strikes(&i.disk.faults.writes) {
		return nil, nil, 0, syscall.EIO
	}
	c, ok := i.node.entries[name]
	if ok && flags&syscall.O_EXCL != 0 {
		return nil, nil, 0, syscall.EEXIST
	}
	if !ok {
		if i.disk.used()+pageSize > i.disk.capacity {
			return nil, nil, 0, syscall.ENOSPC
		}
		c = i.add(name, syscall.S_IFREG|mode&0o777)
	}
	c.fill(&out.Attr)
	in := i.child(ctx, c)
	return in, &handle{in.Operations().(*inode), flags&syscall.O_APPEND != 0}, fuse.FOPEN_DIRECT_IO, 0
}

func (i *inode) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	i.disk.mu.Lock()
	defer i.disk.mu.Unlock()
	if i.disk.strikes(&i.disk.faults.writes) {
		return nil, syscall.EIO
	}
	if _, ok := i.node.entries[name]; ok {
		return nil, syscall.EEXIST
	}
	c := i.add(name, syscall.S_IFDIR|mode&0o777)
	c.fill(&out.Attr)
	return i.child(ctx, c), 0
}

func (i *inode) remove(name string, dir bool) syscall.Errno {
	i.disk.mu.Lock()
	defer i.disk.mu.Unlock()
	c, ok := i.node.entries[name]
	switch {
	case !ok:
		return syscall.ENOENT
	case dir && len(c.entries) > 0:
		return syscall.ENOTEMPTY
	case i.disk.strikes(&i.disk.faults.writes):
		return syscall.EIO
	}
	delete(i.node.entries, name)
	i.node.changes = append(i.node.changes, change{name: name})
	return 0
}

func (i *inode) Unlink(_ context.Context, name string) syscall.Errno { return i.remove(name, false) }
func (i *inode) Rmdir(_ context.Context, name string) syscall.Errno  { return i.remove(name, true) }

func (i *inode) Rename(_ context.Context, name string, parent fs.InodeEmbedder, to string, flags uint32) syscall.Errno {
	i.disk.mu.Lock()
	defer i.disk.mu.Unlock()
	dst := parent.(*inode).node
	c, ok := i.node.entries[name]
	if !ok {
		return syscall.ENOENT
	}
	if flags != 0 {
		return syscall.EINVAL
	}
	if i.disk.strikes(&i.disk.faults.writes) {
		return syscall.EIO
	}
	delete(i.node.entries, name)
	dst.entries[to] = c
	if dst == i.node {
		dst.changes = append(dst.changes, change{name: to, node: c, from: name})
		return 0
	}
	i.disk.last++
	twin := int64(i.disk.last)
	i.node.changes = append(i.node.changes, change{name: name, twin: twin})
	dst.changes = append(dst.changes, change{name: to, node: c, twin: twin})
	return 0
}

func (i *inode) Opendir(context.Context) syscall.Errno { return 0 }

func (i *inode) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	i.disk.mu.Lock()
	defer i.disk.mu.Unlock()
	var list []fuse.DirEntry
	for _, name := range sorted(i.node.entries) {
		c := i.node.entries[name]
		list = append(list, fuse.DirEntry{Name: name, Ino: c.ino, Mode: c.mode & syscall.S_IFMT})
	}
	return fs.NewListDirStream(list), 0
}

func (i *inode) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if flags&syscall.O_TRUNC != 0 {
		if e := i.disk.resize(i.node, 0); e != 0 {
			return nil, 0, e
		}
	}
	return &handle{i, flags&syscall.O_APPEND != 0}, fuse.FOPEN_DIRECT_IO, 0
}

func (i *inode) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	i.disk.mu.Lock()
	defer i.disk.mu.Unlock()
	i.node.fill(&out.Attr)
	return 0
}

func (i *inode) Setattr(_ context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if size, ok := in.GetSize(); ok {
		if e := i.disk.resize(i.node, int64(size)); e != 0 {
			return e
		}
	}
	i.disk.mu.Lock()
	defer i.disk.mu.Unlock()
	if mode, ok := in.GetMode(); ok {
		i.node.mode = i.node.mode&syscall.S_IFMT | mode&0o777
	}
	i.node.fill(&out.Attr)
	return 0
}

// Fsync of a directory comes here, of a file to its handle.
func (i *inode) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	return i.disk.sync(i.node)
}

func (i *inode) Getxattr(context.Context, string, []byte) (uint32, syscall.Errno) {
	return 0, syscall.ENODATA
}

func (i *inode) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	i.disk.mu.Lock()
	defer i.disk.mu.Unlock()
	out.Bsize, out.Frsize, out.NameLen = pageSize, pageSize, 255
	out.Blocks = uint64(i.disk.capacity) / pageSize
	out.Bfree = uint64(max(0, i.disk.capacity-i.disk.used())) / pageSize
	out.Bavail = out.Bfree
	out.Files, out.Ffree = 1<<20, 1<<20
	return 0
}

func (i *inode) Allocate(_ context.Context, _ fs.FileHandle, off, size uint64, mode uint32) syscall.Errno {
	if mode&^1 != 0 {
		return syscall.EOPNOTSUPP
	}
	if mode&1 != 0 { // the size stays
		return 0
	}
	i.disk.mu.Lock()
	have := int64(len(i.node.data))
	i.disk.mu.Unlock()
	if want := int64(off + size); want > have {
		return i.disk.resize(i.node, want)
	}
	return 0
}

func (h *handle) Allocate(ctx context.Context, off, size uint64, mode uint32) syscall.Errno {
	return h.in.Allocate(ctx, h, off, size, mode)
}

func (h *handle) Read(_ context.Context, b []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	h.in.disk.mu.Lock()
	defer h.in.disk.mu.Unlock()
	data := h.in.node.data
	if off >= int64(len(data)) {
		return fuse.ReadResultData(nil), 0
	}
	n := copy(b, data[off:])
	return fuse.ReadResultData(b[:n]), 0
}

func (h *handle) Write(_ context.Context, b []byte, off int64) (uint32, syscall.Errno) {
	if h.tail {
		h.in.disk.mu.Lock()
		off = int64(len(h.in.node.data))
		h.in.disk.mu.Unlock()
	}
	if e := h.in.disk.write(h.in.node, off, b); e != 0 {
		return 0, e
	}
	return uint32(len(b)), 0
}

func (h *handle) Fsync(context.Context, uint32) syscall.Errno { return h.in.disk.sync(h.in.node) }
func (h *handle) Flush(context.Context) syscall.Errno         { return 0 }
