package powerfs

import "math/rand/v2"

// survivor is what is left of a node. A move between directories is kept or lost
// as one: moves holds what was drawn for it.
func (d *Disk) survivor(rng *rand.Rand, n *node, moves map[int64]bool) *node {
	out := d.newNode(n.mode)
	if !n.isDir() {
		out.data = d.survivingBytes(rng, n)
		out.safe = append([]byte{}, out.data...)
		return out
	}
	left := map[string]*node{}
	for name, c := range n.safeEntries {
		left[name] = c
	}
	all := rng.IntN(3) // 0: none of the changes, 1: any, 2: all
	for _, c := range n.changes {
		keep := all == 2 || all == 1 && rng.IntN(2) == 0
		if c.twin != 0 {
			if drawn, known := moves[c.twin]; known {
				keep = drawn
			} else {
				moves[c.twin] = keep
			}
		}
		if !keep {
			d.lost.Entries++
			continue
		}
		apply(left, c)
	}
	for _, name := range sorted(left) {
		out.entries[name] = d.survivor(rng, left[name], moves)
		out.safeEntries[name] = out.entries[name]
	}
	return out
}

// apply does one change to a set of entries. What it rests on may be lost.
func apply(entries map[string]*node, c change) {
	switch {
	case c.node == nil:
		delete(entries, c.name)
	case c.from != "":
		// The file under the old name is c.node, if its creation was kept. Journals
		// of file systems write creation and rename in order, so a kept rename
		// brings its file along.
		if entries[c.from] == c.node {
			delete(entries, c.from)
		}
		entries[c.name] = c.node
	default:
		entries[c.name] = c.node
	}
}

// survivingBytes draws for each page that was not synced what became of it.
func (d *Disk) survivingBytes(rng *rand.Rand, n *node) []byte {
	size := len(n.safe)
	if len(n.data) < size && rng.IntN(2) == 0 {
		size = len(n.data) // an unsynced truncation was kept
	}
	out := append([]byte{}, n.safe[:size]...)
	mode := rng.IntN(4) // 0: no page reached the medium, 1: any, 2: all, 3: those up to some place
	upto := rng.IntN(len(n.data) + 1)
	end := size
	for p := int64(0); p*pageSize < int64(len(n.data)); p++ {
		if !n.dirty[p] {
			continue
		}
		from := int(p * pageSize)
		to := min(from+pageSize, len(n.data))
		fate := rng.IntN(4)
		if mode == 0 {
			fate = 0
		} else if mode == 2 {
			fate = 3
		} else if mode == 3 {
			fate = 3
			if from > upto {
				fate = 0
			}
			to = min(to, max(upto, from))
		}
		if fate == 0 {
			d.lost.Gone++
			continue
		}
		if grow := to - len(out); grow > 0 {
			out = append(out, make([]byte, grow)...)
		}
		switch fate {
		case 1: // the size grew, the bytes did not come
			d.lost.Zeroed++
			clear(out[max(from, min(len(n.safe), to)):to])
		case 2:
			d.lost.Torn++
			for s := from; s < to; s += sectorSize {
				if rng.IntN(2) == 0 {
					copy(out[s:min(s+sectorSize, to)], n.data[s:])
				}
			}
		case 3:
			d.lost.Kept++
			copy(out[from:to], n.data[from:to])
		}
		end = max(end, to)
	}
	// The size itself may have been written without a single page.
	if mode == 1 && len(n.data) > end && rng.IntN(4) == 0 {
		out = append(out, make([]byte, rng.IntN(len(n.data)-end+1))...)
	}
	return out
}
