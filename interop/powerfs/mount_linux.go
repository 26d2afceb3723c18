package powerfs

import (
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

type mount struct {
	dir    string
	server *fuse.Server
}

// Available tells why a mount can not work here.
func Available() error {
	if os.Getuid() != 0 {
		return fmt.Errorf("mounting needs root")
	}
	d, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return d.Close()
}

// Mount shows the tree at a directory.
func (f *FS) Mount(dir string) error {
	b := &bridge{RawFileSystem: fuse.NewDefaultRawFileSystem(), fs: f, nodes: map[uint64]*node{1: {inode: f.root, lookups: 1}}}
	server, err := fuse.NewServer(b, dir, &fuse.MountOptions{DirectMountStrict: true, MaxWrite: 1 << 20, FsName: "powerfs", Name: "powerfs",
		DisableXAttrs: true, DisableReadDirPlus: true, Logger: log.New(io.Discard, "", 0)})
	if err != nil {
		return fmt.Errorf("powerfs: mount: %w", err)
	}
	go server.Serve()
	if err := server.WaitMount(); err != nil {
		return fmt.Errorf("powerfs: mount: %w", err)
	}
	f.mount = mount{dir: dir, server: server}
	return nil
}

// Unmount takes it away; what it holds stays in memory.
func (f *FS) Unmount() error {
	if f.mount.server == nil {
		return nil
	}
	if err := retry(f.mount.server.Unmount); err != nil {
		return err
	}
	f.mount.server = nil
	f.closeAll()
	return nil
}

// bridge answers the kernel for one mount.
type bridge struct {
	fuse.RawFileSystem
	fs *FS

	mu    sync.Mutex
	nodes map[uint64]*node // what the kernel knows
}

type node struct {
	inode   *inode
	lookups uint64
}

// For as long as a mount lives only the kernel changes the tree, so all that it knows stays right.
const valid = time.Hour

func (b *bridge) node(id uint64) *inode {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.nodes[id].inode
}

func (b *bridge) attr(n *inode, out *fuse.Attr) {
	b.fs.mu.Lock()
	defer b.fs.mu.Unlock()
	out.Ino, out.Size, out.Blksize = n.ino, uint64(n.size), pageSize
	out.Blocks = (out.Size + sector - 1) / sector
	out.Mode, out.Nlink = n.mode|syscall.S_IFREG, 1
	if n.dir {
		out.Mode, out.Nlink = n.mode|syscall.S_IFDIR, 2
	}
	if !n.linked {
		out.Nlink = 0
	}
	out.SetTimes(&n.mtime, &n.mtime, &n.mtime)
}

func (b *bridge) entry(n *inode, out *fuse.EntryOut) {
	b.mu.Lock()
	if x := b.nodes[n.ino]; x != nil {
		x.lookups++
	} else {
		b.nodes[n.ino] = &node{inode: n, lookups: 1}
	}
	b.mu.Unlock()
	out.NodeId, out.Generation = n.ino, 1
	out.SetEntryTimeout(valid)
	out.SetAttrTimeout(valid)
	b.attr(n, &out.Attr)
}

func (b *bridge) Lookup(_ <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	dir := b.node(h.NodeId)
	b.fs.mu.Lock()
	n := dir.entries[name]
	b.fs.mu.Unlock()
	if n == nil {
		return fuse.ENOENT
	}
	b.entry(n, out)
	return fuse.OK
}

func (b *bridge) Forget(id, lookups uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if x := b.nodes[id]; x != nil {
		if x.lookups -= min(lookups, x.lookups); x.lookups == 0 && id != 1 {
			delete(b.nodes, id)
		}
	}
}

func (b *bridge) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	b.attr(b.node(in.NodeId), &out.Attr)
	out.SetTimeout(valid)
	return fuse.OK
}

func (b *bridge) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	n := b.node(in.NodeId)
	if size, ok := in.GetSize(); ok {
		if e := b.fs.truncate(n, int64(size)); e != 0 {
			return fuse.Status(e)
		}
	}
	if mode, ok := in.GetMode(); ok {
		b.fs.mu.Lock()
		n.mode = mode & 0o7777
		b.fs.mu.Unlock()
	}
	b.attr(n, &out.Attr)
	out.SetTimeout(valid)
	return fuse.OK
}

func (b *bridge) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	n, e := b.fs.create(b.node(in.NodeId), name, in.Mode, false)
	if e != 0 {
		return fuse.Status(e)
	}
	b.fs.open(n)
	b.entry(n, &out.EntryOut)
	return fuse.OK
}

func (b *bridge) Mknod(_ <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	if in.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return fuse.EPERM
	}
	n, e := b.fs.create(b.node(in.NodeId), name, in.Mode, false)
	if e != 0 {
		return fuse.Status(e)
	}
	b.entry(n, out)
	return fuse.OK
}

func (b *bridge) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	n, e := b.fs.create(b.node(in.NodeId), name, in.Mode, true)
	if e != 0 {
		return fuse.Status(e)
	}
	b.entry(n, out)
	return fuse.OK
}

func (b *bridge) Unlink(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return fuse.Status(b.fs.remove(b.node(h.NodeId), name, false))
}

func (b *bridge) Rmdir(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return fuse.Status(b.fs.remove(b.node(h.NodeId), name, true))
}

func (b *bridge) Rename(_ <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	const noReplace = 1
	if in.Flags&^noReplace != 0 {
		return fuse.Status(syscall.EINVAL)
	}
	return fuse.Status(b.fs.rename(b.node(in.NodeId), from, b.node(in.Newdir), to, in.Flags&noReplace == 0))
}

func (b *bridge) Access(<-chan struct{}, *fuse.AccessIn) fuse.Status { return fuse.OK }

func (b *bridge) Open(_ <-chan struct{}, in *fuse.OpenIn, _ *fuse.OpenOut) fuse.Status {
	n := b.node(in.NodeId)
	if in.Flags&syscall.O_TRUNC != 0 {
		if e := b.fs.truncate(n, 0); e != 0 {
			return fuse.Status(e)
		}
	}
	b.fs.open(n)
	return fuse.OK
}

func (b *bridge) Release(_ <-chan struct{}, in *fuse.ReleaseIn) { b.fs.release(b.node(in.NodeId)) }

func (b *bridge) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	n := b.fs.read(b.node(in.NodeId), int64(in.Offset), buf)
	return fuse.ReadResultData(buf[:n]), fuse.OK
}

func (b *bridge) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	n, e := b.fs.write(b.node(in.NodeId), int64(in.Offset), data)
	return uint32(n), fuse.Status(e)
}

func (b *bridge) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.OK }

func (b *bridge) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return fuse.Status(b.fs.sync(b.node(in.NodeId)))
}

func (b *bridge) OpenDir(<-chan struct{}, *fuse.OpenIn, *fuse.OpenOut) fuse.Status { return fuse.OK }

func (b *bridge) ReleaseDir(*fuse.ReleaseIn) {}

// ReadDir gives the names from the Offset-th on. A name that goes between two pieces may hide another: a broker lists
// its directories when nothing else is going on.
func (b *bridge) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	dir := b.node(in.NodeId)
	b.fs.mu.Lock()
	defer b.fs.mu.Unlock()
	for i, name := range sortedNames(dir.entries) {
		if uint64(i) < in.Offset {
			continue
		}
		n := dir.entries[name]
		mode := uint32(syscall.S_IFREG)
		if n.dir {
			mode = syscall.S_IFDIR
		}
		if !out.AddDirEntry(fuse.DirEntry{Name: name, Mode: mode, Ino: n.ino, Off: uint64(i) + 1}) {
			break
		}
	}
	return fuse.OK
}

func (b *bridge) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return fuse.Status(b.fs.syncDir(b.node(in.NodeId)))
}

func (b *bridge) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	b.fs.mu.Lock()
	defer b.fs.mu.Unlock()
	free := uint64(max(b.fs.capacity-b.fs.used, 0)) / pageSize
	*out = fuse.StatfsOut{Blocks: uint64(b.fs.capacity) / pageSize, Bfree: free, Bavail: free, Bsize: pageSize, Frsize: pageSize, NameLen: 255,
		Files: 1 << 20, Ffree: 1 << 20}
	return fuse.OK
}
