package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/orrery-log/orrery/core/env"
)

// survivor hands over what a start found, in bounded pieces: the segments, each
// log's last checkpoint, the journal's entries in order.
type survivor struct {
	d        *Disk
	dir      string
	limit    int64
	segments []env.SegmentInfo
	damage   []env.Damage
	told     bool
	places   []place // of checkpoints, in order
	cut      env.Seq
	files    []journalFile // still to be read
	kept     int           // bytes of the last file that count; negative: all, as after a repair
	live     bool          // another process uses the directory, and may cut the journal
	walk     walk
	buf      []byte
	entries  []env.Entry // of the file that was read last; their bytes are the file's
}

const segmentsInPiece = 4096

func newSurvivor(d *Disk, s *survey, segments []env.SegmentInfo) *survivor {
	v := &survivor{d: d, dir: s.dir, limit: d.opts.PieceBytes, segments: segments, damage: s.walk.damage(), cut: s.walk.cut,
		kept: -1, walk: walk{journal: s.walk.journal}}
	for i, f := range s.files {
		if i+1 == len(s.files) || s.files[i+1].seq > v.cut { // else nothing of it is needed, and it may be unlinked at any time
			v.files = append(v.files, f)
		}
	}
	if len(segments) > 0 && s.walk.frames == 0 && len(v.damage) == 0 {
		// Segments without a journal: it was lost as a whole.
		v.damage = []env.Damage{{}}
	}
	for _, p := range s.checkpoints {
		if p.seq >= v.cut {
			v.places = append(v.places, p)
		}
	}
	slices.SortFunc(v.places, func(a, b place) int { return cmp.Compare(a.seq, b.seq) })
	return v
}

// Survived hands over the next piece. All of it is synced.
func (d *Disk) Survived() (env.Survived, error) {
	v := d.survivor
	if v == nil {
		return env.Survived{}, fmt.Errorf("disk: no piece comes after the last")
	}
	p, err := v.next()
	if err != nil {
		return env.Survived{}, fmt.Errorf("recovery: %w", err)
	}
	if p.Last {
		d.survivor = nil
	}
	return p, nil
}

func (v *survivor) next() (p env.Survived, err error) {
	if n := min(segmentsInPiece, len(v.segments)); n > 0 {
		p.Segments, v.segments = v.segments[:n:n], v.segments[n:]
		return p, nil
	}
	if len(v.places) > 0 {
		p.Checkpoints, err = v.checkpoints()
		return p, err
	}
	if !v.told { // now the logs are known that it may concern
		v.told, p.Damage = true, v.damage
	}
	if err := v.load(); err != nil {
		return p, err
	}
	for size := int64(0); len(v.entries) > 0; {
		e := v.entries[0]
		if size += e.Size(); size > v.limit && len(p.Entries) > 0 {
			return p, nil
		}
		v.entries = v.entries[1:]
		p.Entries = append(p.Entries, detach(e))
	}
	// Another file may hold nothing to hand over: look before saying that more comes.
	if err := v.load(); err != nil {
		return p, err
	}
	p.Last = len(v.entries) == 0
	return p, nil
}

// detach copies an entry's bytes, so that a kept one pins nothing else.
func detach(e env.Entry) env.Entry {
	b := make([]byte, len(e.Header)+len(e.Payload))
	n := copy(b, e.Header)
	copy(b[n:], e.Payload)
	e.Header = b[:n:n]
	if !e.Damaged {
		e.Payload = b[n:]
	}
	return e
}

// load reads files until there are entries, or no files.
func (v *survivor) load() error {
	for len(v.entries) == 0 && len(v.files) > 0 {
		name := v.files[0].name
		v.files = v.files[1:]
		path := filepath.Join(v.dir, journalName(name))
		data, err := readFile(path, v.buf)
		if v.live && errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		v.buf = data // all entries of the file before were copied
		if len(v.files) == 0 && v.kept >= 0 {
			data = data[:min(v.kept, len(data))]
		}
		v.walk.file(name, data, func(_ int, f *frame) {
			f.each(func(_ int, e env.Entry, lost bool) {
				if !lost && e.Seq >= v.cut {
					v.entries = append(v.entries, e)
				}
			})
		})
		v.walk.flaws, v.walk.settled = nil, 0
		if f, err := os.Open(path); err == nil {
			dropCache(f, 0, 0)
			f.Close()
		}
	}
	return nil
}

// checkpoints reads the next checkpoints where the scan found them.
func (v *survivor) checkpoints() ([]env.Entry, error) {
	var entries []env.Entry
	var f *os.File
	defer func() { f.Close() }()
	name := uint64(0)
	for size := int64(0); len(v.places) > 0; v.places = v.places[1:] {
		p := v.places[0]
		if size += int64(p.size); size > v.limit && len(entries) > 0 {
			break
		}
		if p.file != name {
			f.Close()
			var err error
			if f, err = os.Open(filepath.Join(v.dir, journalName(p.file))); v.live && errors.Is(err, fs.ErrNotExist) {
				continue
			} else if err != nil {
				return nil, err
			}
			name = p.file
		}
		data := make([]byte, p.size)
		if _, err := f.ReadAt(data, p.at); err != nil {
			return nil, err
		}
		e := env.Entry{Seq: p.seq}
		if !parseEntry(data, p.size, &e) || e.Damaged {
			return nil, fmt.Errorf("checkpoint %d of %s changed since the scan", p.seq, journalName(p.file))
		}
		entries = append(entries, e)
	}
	return entries, nil
}
