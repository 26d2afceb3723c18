package disk

import (
	"bytes"
	"encoding/binary"

	"github.com/orrery-log/orrery/core/env"
)

// A walk goes over the journal's files in order, frame by frame, and over what is
// not a frame. It keeps where it is in the chain of frames, and the flaws.
//
// A flaw is a place where the journal is not what was written. It is one of two:
//
//   - Damage: it had been synced. Proof is a sound frame behind it that says so,
//     or any later file: the library syncs a file before it creates the next.
//   - A tear: a loss of power in the middle of a group's fsync loses any subset of
//     its pages, so sound frames may follow. Nobody was told that they are
//     safe. The journal ends at the first such flaw.
//
// What no later frame proves is taken for a tear: damage in the last synced group
// looks the same. A closed or idle journal ends with a frame that proves the rest.
type walk struct {
	journal uint64  // the number that every frame must bear
	index   uint64  // of the last frame, or of the last that is known to be missing
	seq     env.Seq // last Seq so far
	crc     uint32  // of the last frame's header; 0: not known
	logs    logList // of the last frame
	cut     env.Seq // highest named so far
	named   env.Seq // highest synced named so far

	frames, entries int
	flaws           []flaw
	settled         int // flaws before it can not change any more
}

// flaw is one such place.
type flaw struct {
	file   uint64 // the name of the file
	pos    int    // where the frame, or what is no frame, begins
	index  uint64 // of the last frame before it
	after  env.Seq
	upto   env.Seq // first Seq behind it; 0: nothing behind it yet
	first  env.Seq // a frame that names this Seq synced proves that it was synced
	logs   []env.LogID
	named  bool // logs is what can be lost
	proven bool
	// payload: nothing but payloads failed, and those entries tell it themselves.
	payload bool
	entry   bool // upto is known: a single entry within a frame
	what    string
}

// file walks over the bytes of the file of that name; visit gets each frame
// whose header is sound, and where its magic is.
func (w *walk) file(name uint64, data []byte, visit func(pos int, f *frame)) {
	w.proveAll() // this file exists
	if name > w.index+1 {
		w.flaw(flaw{file: name, proven: true, what: "frames before it are missing"})
		w.index, w.crc = name-1, 0
		w.logs.reset() // those of the missing frame are not known
	}
	pos := 0 // behind the last frame
	for pos < len(data) {
		f, start, at, ok := w.nextFrame(data, pos)
		if !ok || start > pos {
			w.flaw(flaw{file: name, pos: pos, what: "no frame where one must be"})
		} else if f.index > w.index+1 {
			w.flaw(flaw{file: name, pos: pos, what: "a frame is missing"})
		}
		if !ok {
			return
		}
		w.frame(name, start, &f)
		visit(at, &f)
		pos = min(at+f.size, len(data))
	}
}

// nextFrame finds the next frame at or behind pos that can follow in the chain. It
// begins at at; start is pos if the library's length prefix stands there as it must.
func (w *walk) nextFrame(data []byte, pos int) (f frame, start, at int, ok bool) {
	size, k := binary.Uvarint(data[pos:])
	if k > 0 {
		if f, ok = parseFrame(data[pos+k:]); ok && uint64(f.size) == size && k == prefixLen(f.size) && w.follows(&f) {
			return f, pos, pos + k, true
		}
	}
	var magic [4]byte
	binary.BigEndian.PutUint32(magic[:], frameMagic)
	for at = pos; ; at++ {
		i := bytes.Index(data[at:], magic[:])
		if i < 0 {
			return f, len(data), len(data), false
		}
		at += i
		if f, ok = parseFrame(data[at:]); ok && w.follows(&f) {
			return f, at, at, true
		}
	}
}

// follows tells whether f can stand behind what was walked over: its index is
// higher, and if it is the very next, it names the frame before.
func (w *walk) follows(f *frame) bool {
	if f.journal != w.journal || f.index <= w.index || f.first <= w.seq {
		return false
	}
	return f.index > w.index+1 || w.crc == 0 || f.before == w.crc
}

func prefixLen(size int) int {
	n := 1
	for ; size >= 0x80; size >>= 7 {
		n++
	}
	return n
}

// frame goes over one frame: it may end flaws, prove them, and have its own.
func (w *walk) frame(name uint64, pos int, f *frame) {
	for i := w.settled; i < len(w.flaws); i++ {
		x := &w.flaws[i]
		if x.upto == 0 && f.index == x.index+1 {
			x.first = f.first // no frame is missing: it is this one's length prefix that is hurt
		}
		x.proven = x.proven || x.first <= f.synced
		// Only the frame right behind a lost one lists its logs.
		if lost := x.index + 1; !x.named && (x.upto == 0 || x.entry) && f.index == lost+1 {
			x.logs, x.named = logsSince(f.logs, x.after+1), true
		}
		if x.upto == 0 {
			x.upto = f.first
		}
	}
	for w.settled < len(w.flaws) && w.flaws[w.settled].proven {
		w.settled++
	}
	w.index, w.crc = f.index, f.crc
	w.cut, w.named = max(w.cut, f.cut), max(w.named, f.synced)
	w.frames++
	w.logs.reset()
	f.each(func(_ int, e env.Entry, lost bool) {
		w.entries++
		x := flaw{file: name, pos: pos, index: f.index - 1, first: f.first, after: e.Seq - 1, upto: e.Seq + 1, entry: true, what: "an entry's header"}
		if lost {
			if n := len(w.flaws); n > 0 {
				if y := &w.flaws[n-1]; y.entry && !y.payload && y.index == x.index && y.upto == e.Seq {
					y.upto++
					return
				}
			}
			w.flaws = append(w.flaws, x)
			return
		}
		w.logs.note(e.Log, e.Seq)
		if e.Damaged {
			x.payload, x.named, x.logs, x.what = true, true, []env.LogID{e.Log}, "an entry's payload"
			w.flaws = append(w.flaws, x)
		}
	})
	w.seq = f.last()
}

// flaw opens a flaw behind the last frame.
func (w *walk) flaw(x flaw) {
	x.index, x.after, x.first = w.index, w.seq, w.seq+1
	w.flaws = append(w.flaws, x)
}

func (w *walk) proveAll() {
	for i := range w.flaws {
		w.flaws[i].proven = true
	}
}

// tear is the first flaw that nothing proves to be damage.
func (w *walk) tear() (x flaw, torn bool) {
	for _, x := range w.flaws {
		if !x.proven {
			return x, true
		}
	}
	return x, false
}

// needed tells whether a flaw costs anything: an entry that is not below the cut.
// Every journal that was cut begins with one that does not: frames that are gone.
func (w *walk) needed(x flaw) bool {
	return x.upto != x.after+1 && (x.upto == 0 || x.upto > w.cut)
}

// damage is what is lost for good and still needed: what was synced and is not
// below the cut. Damaged payloads are told by their entries.
func (w *walk) damage() []env.Damage {
	var ds []env.Damage
	for _, x := range w.flaws {
		if x.payload || !w.needed(x) {
			continue
		}
		d := env.Damage{Logs: x.logs, After: x.after, Upto: x.upto}
		if !x.named {
			d.Logs = nil
		}
		if n := len(ds); n > 0 && ds[n-1].After == d.After && ds[n-1].Upto == d.Upto {
			if d.Logs == nil {
				ds[n-1].Logs = nil
			}
			continue
		}
		ds = append(ds, d)
	}
	return ds
}

// logsSince is the logs of list with an entry at or behind seq.
func logsSince(list []lastOf, seq env.Seq) []env.LogID {
	var logs []env.LogID
	for _, l := range list {
		if l.seq == 0 || l.seq >= seq {
			logs = append(logs, l.log)
		}
	}
	return logs
}
