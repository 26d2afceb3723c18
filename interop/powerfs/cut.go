package powerfs

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Survival is what a cut did to what was not synced.
type Survival struct {
	Files                    int // files with something not synced
	Kept, Lost, Torn, Zeroed int // ranges of pages
	Undone                   int // sizes that went back
	Extended                 int // sizes that stayed although pages before them were lost
	NamesKept, NamesLost     int
}

// Add counts another cut in.
func (s *Survival) Add(o Survival) {
	s.Files += o.Files
	s.Kept, s.Lost, s.Torn, s.Zeroed = s.Kept+o.Kept, s.Lost+o.Lost, s.Torn+o.Torn, s.Zeroed+o.Zeroed
	s.Undone, s.Extended = s.Undone+o.Undone, s.Extended+o.Extended
	s.NamesKept, s.NamesLost = s.NamesKept+o.NamesKept, s.NamesLost+o.NamesLost
}

func (s Survival) String() string {
	return fmt.Sprintf("%d files not synced; page ranges %d kept, %d lost, %d torn, %d zeroed; sizes %d undone, %d extended; names %d kept, %d lost",
		s.Files, s.Kept, s.Lost, s.Torn, s.Zeroed, s.Undone, s.Extended, s.NamesKept, s.NamesLost)
}

// Dirty tells how many bytes and names no fsync covers.
func (f *FS) Dirty() (bytes int64, names int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.walk(func(_ string, n *inode) {
		for i := range n.dirty {
			for _, e := range n.pages[i].dirty {
				bytes += int64(e.hi - e.lo)
			}
		}
	})
	return bytes, len(f.names)
}

// fate says how the pages of one file fare. Each page alone would almost never leave a long run of pages, or lose one,
// so the file draws first.
type fate struct {
	keep, lose, torn int // of 100; the rest is zeroed
	prefix           int // pages before it are kept, pages behind it are lost; -1: no such rule
}

func drawFate(r *rand.Rand, pages int) fate {
	switch r.IntN(6) {
	case 0:
		return fate{keep: 100, prefix: -1}
	case 1:
		return fate{lose: 100, prefix: -1}
	case 2:
		return fate{prefix: r.IntN(pages + 1)}
	case 3:
		return fate{keep: 90, lose: 4, torn: 3, prefix: -1}
	case 4:
		return fate{keep: 25, lose: 25, torn: 25, prefix: -1}
	default:
		return fate{keep: 50, lose: 10, torn: 20, prefix: -1}
	}
}

// settle turns the tree into one of the states that what is synced allows. The same tree and seed give the same state.
func (f *FS) settle(seed uint64) Survival {
	r := rand.New(rand.NewPCG(seed, 0x706f776572))
	var s Survival
	f.settleNames(r, &s)
	seen := map[*inode]bool{}
	f.walk(func(_ string, n *inode) {
		if !n.dir && !seen[n] {
			seen[n] = true
			settleFile(n, r, &s)
		}
	})
	return s
}

// settleNames keeps some of the name changes, in their order, and makes the synced tree the tree.
func (f *FS) settleNames(r *rand.Rand, s *Survival) {
	chance := []int{0, 50, 50, 100}[r.IntN(4)]
	for _, c := range f.names {
		if r.IntN(100) < chance {
			c.apply()
			s.NamesKept++
		} else {
			s.NamesLost++
		}
	}
	f.names = nil
	var adopt func(dir *inode)
	adopt = func(dir *inode) {
		dir.entries = map[string]*inode{}
		for _, name := range sortedNames(dir.synced) {
			n := dir.synced[name]
			dir.entries[name] = n
			n.parent, n.name, n.linked, n.opens = dir, name, true, 0
			if n.dir {
				adopt(n)
			}
		}
	}
	adopt(f.root)
}

func settleFile(n *inode, r *rand.Rand, s *Survival) {
	if len(n.dirty) == 0 && n.size == n.syncedSize {
		return
	}
	s.Files++
	size := n.size
	switch r.IntN(3) {
	case 0:
		size = n.syncedSize
	case 1:
		if n.size > n.syncedSize {
			size = n.syncedSize + r.Int64N(n.size-n.syncedSize+1)
		}
	}
	if size != n.size {
		s.Undone++
	}
	numbers := make([]int, 0, len(n.dirty))
	for i := range n.dirty {
		numbers = append(numbers, i)
	}
	slices.Sort(numbers)
	fate := drawFate(r, len(numbers))
	lost := 0
	for k, i := range numbers {
		p := n.pages[i]
		var out [pageSize]byte
		if p.synced != nil {
			out = *p.synced
		}
		for _, e := range p.dirty {
			if !settleExtent(&out, p.now, e, fate, k, r, s) {
				lost++
			}
		}
		p.now, p.dirty = &out, nil
	}
	if size > n.syncedSize && lost > 0 {
		s.Extended++
	}
	clear(n.dirty)
	n.size = size
	n.pages = n.pages[:min(len(n.pages), int((size+pageSize-1)/pageSize))]
	if last := int(size % pageSize); last != 0 && int(size/pageSize) < len(n.pages) {
		if p := n.pages[size/pageSize]; p != nil && p.now != nil {
			own := *p.now
			clear(own[last:])
			p.now = &own
		}
	}
	for _, p := range n.pages {
		if p != nil {
			p.synced = p.now
		}
	}
	n.syncedSize = size
}

// settleExtent puts into out, which has the medium's bytes, what becomes of bytes that were written over them. It tells
// whether all of them are there.
func settleExtent(out, now *[pageSize]byte, e extent, fate fate, k int, r *rand.Rand, s *Survival) bool {
	var zeros [pageSize]byte
	if now == nil {
		now = &zeros // cut off
	}
	x := r.IntN(100)
	if fate.prefix >= 0 {
		fate.keep, fate.lose = 0, 100
		if k < fate.prefix {
			fate.keep = 100
		}
	}
	switch {
	case x < fate.keep:
		copy(out[e.lo:e.hi], now[e.lo:e.hi])
		s.Kept++
		return true
	case x < fate.keep+fate.lose:
		s.Lost++
	case x < fate.keep+fate.lose+fate.torn:
		// The medium writes sectors, in any order: one of the two parts is there.
		at := e.lo + r.IntN(e.hi-e.lo)
		if up := at / sector * sector; up > e.lo {
			at = up
		}
		if r.IntN(2) == 0 {
			copy(out[e.lo:at], now[e.lo:at])
		} else {
			copy(out[at:e.hi], now[at:e.hi])
		}
		s.Torn++
	default:
		clear(out[e.lo:e.hi])
		s.Zeroed++
	}
	return false
}

// walk visits the tree in the order of names.
func (f *FS) walk(visit func(path string, n *inode)) {
	var down func(path string, n *inode)
	down = func(path string, n *inode) {
		visit(path, n)
		for _, name := range sortedNames(n.entries) {
			child := name
			if path != "" {
				child = path + "/" + name
			}
			down(child, n.entries[name])
		}
	}
	down("", f.root)
}

func sortedNames(m map[string]*inode) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
