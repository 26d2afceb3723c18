package disk

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/orrery-log/orrery/core/env"
)

// survey is what a journal's directory holds. Taking it changes nothing.
type survey struct {
	dir   string
	walk  walk
	files []journalFile // oldest first
	torn  bool          // the last file ends in a tear
	tear  flaw
	kept  int // bytes of the last file that are kept
	size  int // bytes of the last file
	bytes int64
	temps []string // leftovers that were never complete
	odd   []string // names that are not ours, or come twice
	// checkpoints is where each log's last sound checkpoint is.
	checkpoints map[env.LogID]place
}

// journalFile is a file of the journal.
type journalFile struct {
	name uint64  // its first frame's index
	seq  env.Seq // no entry in it has a lower Seq
}

// place is where an entry is.
type place struct {
	file uint64
	at   int64
	size int
	seq  env.Seq
}

func journalName(index uint64) string { return fmt.Sprintf("%020d", index) }

// takeSurvey reads the journal and finds the tear and the damage in it. number is
// what its frames bear; 0: the format file does not tell it any more.
func takeSurvey(dir string, number uint64) (*survey, error) {
	s := &survey{dir: dir, walk: walk{journal: number}, checkpoints: map[env.LogID]place{}}
	names, err := s.list()
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		// The tail's pages may be clean and yet not what the medium holds, if an
		// fsync failed before the last exit: then only the medium tells.
		if err := dropTail(filepath.Join(dir, journalName(names[len(names)-1]))); err != nil {
			return nil, err
		}
	}
	if err := s.checkNumber(names); err != nil {
		return nil, err
	}
	var buf []byte
	for i, name := range names {
		if name <= s.walk.index {
			s.odd = append(s.odd, journalName(name))
			continue
		}
		if buf, err = readFile(filepath.Join(dir, journalName(name)), buf); errors.Is(err, fs.ErrNotExist) {
			continue // cut by the process that uses the directory; else it will be missed
		} else if err != nil {
			return nil, err
		}
		s.bytes += int64(len(buf))
		s.files = append(s.files, journalFile{name: name, seq: s.walk.seq + 1})
		s.kept, s.size = len(buf), len(buf)
		if i == len(names)-1 {
			s.last(name, buf)
		} else {
			s.walk.file(name, buf, s.note(name))
		}
	}
	return s, nil
}

// last goes over the last file twice: first to see where the journal ends, then
// over what is kept. What the lost part proved and named stays known.
func (s *survey) last(name uint64, data []byte) {
	try := s.walk
	try.flaws = slices.Clone(try.flaws)
	try.logs = logList{}
	try.file(name, data, func(int, *frame) {})
	s.tear, s.torn = try.tear()
	if s.torn {
		s.kept = s.tear.pos
	}
	s.walk.file(name, data[:s.kept], s.note(name))
	s.walk.proveAll()
	s.walk.cut = max(s.walk.cut, try.cut)
}

// note remembers the checkpoints of a file.
func (s *survey) note(name uint64) func(pos int, f *frame) {
	return func(pos int, f *frame) {
		f.each(func(at int, e env.Entry, lost bool) {
			if !lost && !e.Damaged && e.Checkpoint {
				s.checkpoints[e.Log] = place{file: name, at: int64(pos + at),
					size: entryFixed + len(e.Header) + len(e.Payload), seq: e.Seq}
			}
		})
	}
}

// list sorts the directory's names into journal files, which are numbered by
// 20 digits, leftovers and strays. The library would take a stray for a segment,
// and delete files on account of a .START or .END that only its truncations,
// which are never used here, leave.
func (s *survey) list() ([]uint64, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var names []uint64
	for _, e := range entries {
		n, err := strconv.ParseUint(e.Name(), 10, 64)
		switch {
		case err == nil && n > 0 && journalName(n) == e.Name() && e.Type().IsRegular():
			names = append(names, n)
		case strings.HasSuffix(e.Name(), tempTail):
			s.temps = append(s.temps, e.Name())
		default:
			s.odd = append(s.odd, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// checkNumber compares the journal's number with the first frame of each file,
// where no client's bytes can be, and learns it there if it was lost.
func (s *survey) checkNumber(names []uint64) error {
	head := make([]byte, 64<<10) // a longer header is not checked
	if s.walk.journal == 0 {
		head = make([]byte, 4<<20)
	}
	for _, name := range names {
		path := filepath.Join(s.dir, journalName(name))
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		n, err := f.ReadAt(head, 0)
		f.Close()
		if err != nil && !errors.Is(err, io.EOF) {
			continue // the scan reads around what the medium refuses
		}
		_, k := binary.Uvarint(head[:n])
		if k <= 0 {
			continue
		}
		x, ok := parseFrame(head[k:n])
		if ok && s.walk.journal == 0 {
			s.walk.journal = x.journal
		}
		if ok && x.journal != s.walk.journal {
			return fmt.Errorf("%s is of another data directory: it bears the number %x, this one's is %x", path, x.journal, s.walk.journal)
		}
	}
	if s.walk.journal == 0 && len(names) > 0 {
		return fmt.Errorf("the number of the journal in %s is lost: neither %s nor a file's head tells it", s.dir, formatName)
	}
	return nil
}

func drawNumber() uint64 {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // crypto/rand does not fail on supported systems
	}
	return binary.BigEndian.Uint64(b[:]) | 1
}

// repair makes the journal what the survey says: what is kept, synced, then a new
// empty file, so that the library, which reads only the last file and trusts
// every byte of it, never meets an old byte. strays is where odd files go.
func (s *survey) repair(strays string) error {
	for _, name := range s.temps {
		if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
			return err
		}
	}
	if err := s.moveOdd(strays); err != nil {
		return err
	}
	if n := len(s.files); n > 0 && s.size > 0 {
		// Always written anew: an fsync of pages that the kernel holds to be clean
		// writes nothing, and a rewrite in place could be torn itself.
		path := filepath.Join(s.dir, journalName(s.files[n-1].name))
		data, err := readFile(path, nil)
		if err != nil {
			return err
		}
		if len(data) < s.kept {
			return fmt.Errorf("%s shrinks while it is read", path)
		}
		if err := replaceFile(path, data[:s.kept]); err != nil {
			return err
		}
	}
	if s.walk.journal == 0 {
		return fmt.Errorf("the number of the journal in %s is lost", s.dir)
	}
	if n := len(s.files); n > 0 && s.kept == 0 && s.files[n-1].name == s.walk.index+1 {
		return syncDir(s.dir)
	}
	s.files = append(s.files, journalFile{name: s.walk.index + 1, seq: s.walk.seq + 1})
	return replaceFile(filepath.Join(s.dir, journalName(s.walk.index+1)), nil)
}

func (s *survey) moveOdd(strays string) error {
	if len(s.odd) == 0 {
		return nil
	}
	if err := makeDir(strays); err != nil {
		return err
	}
	for _, name := range s.odd {
		to := filepath.Join(strays, name)
		for i := 1; ; i++ {
			if _, err := os.Lstat(to); os.IsNotExist(err) {
				break
			}
			to = filepath.Join(strays, fmt.Sprintf("%s.%d", name, i))
		}
		if err := os.Rename(filepath.Join(s.dir, name), to); err != nil {
			return err
		}
	}
	if err := syncDir(strays); err != nil {
		return err
	}
	return syncDir(s.dir)
}
