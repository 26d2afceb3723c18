package powerfs

// Image is what a file system held at some time.
type Image struct {
	root    *inode
	lastIno uint64
}

// Image is what it holds now, all of it synced. The pages are shared: it costs little.
func (f *FS) Image() *Image {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &Image{root: clone(f.root, nil), lastIno: f.lastIno}
}

// Restore makes it hold what an image has. Nobody may use it meanwhile.
func (f *FS) Restore(image *Image) error {
	if err := f.Unmount(); err != nil {
		return err
	}
	f.mu.Lock()
	f.root, f.lastIno, f.names = clone(image.root, nil), image.lastIno, nil
	f.mu.Unlock()
	f.closeAll() // counts what is used anew
	return f.Mount(f.mount.dir)
}

func clone(n, parent *inode) *inode {
	out := &inode{ino: n.ino, dir: n.dir, mode: n.mode, mtime: n.mtime, parent: parent, name: n.name, linked: true, size: n.size, syncedSize: n.size}
	if !n.dir {
		out.dirty = map[int]struct{}{}
		for _, p := range n.pages {
			if p != nil {
				now := shareable(p)
				p = &page{now: now, synced: now}
			}
			out.pages = append(out.pages, p)
		}
		return out
	}
	out.entries, out.synced = map[string]*inode{}, map[string]*inode{}
	for name, child := range n.entries {
		out.entries[name] = clone(child, out)
		out.synced[name] = out.entries[name]
	}
	return out
}

// shareable is an array with the page's bytes that no write goes into: the medium's, or a copy.
func shareable(p *page) *[pageSize]byte {
	if p.now == nil || p.now == p.synced {
		return p.now
	}
	c := *p.now
	return &c
}
