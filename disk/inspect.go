package disk

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/orrery-log/orrery/core/env"
	corejournal "github.com/orrery-log/orrery/core/journal"
	corelog "github.com/orrery-log/orrery/core/log"
	"github.com/orrery-log/orrery/core/metadata"
	"github.com/orrery-log/orrery/core/record"
)

// Report is what a data directory holds, for people and scripts. Making one
// changes nothing.
type Report struct {
	Dir      string            `json:"dir"`
	Format   int               `json:"format"`
	Meta     map[string]string `json:"meta"`
	InUseBy  string            `json:"inUseBy,omitempty"` // a process that writes to it now
	Journal  JournalReport     `json:"journal"`
	Logs     []LogReport       `json:"logs"`
	Accepted []string          `json:"acceptedLosses,omitempty"` // notes for the next start
	Sound    bool              `json:"sound"`

	inDamage map[string][16]byte // topics of which lost entries tell, by name
}

// JournalReport is the journal without what it says of the logs.
type JournalReport struct {
	Files      int             `json:"files"`
	Bytes      int64           `json:"bytes"`
	Frames     int             `json:"frames"`
	Entries    int             `json:"entries"`
	Cut        env.Seq         `json:"cut"`  // entries before it are not needed
	Last       env.Seq         `json:"last"` // the last entry
	Torn       int             `json:"torn"` // bytes at the end that the next start cuts off; no damage
	Damage     []JournalDamage `json:"damage,omitempty"`
	Strays     []string        `json:"strays,omitempty"`
	Unfinished []string        `json:"unfinished,omitempty"`
}

// JournalDamage is a place where synced entries are lost.
type JournalDamage struct {
	After env.Seq  `json:"after"`
	Upto  env.Seq  `json:"upto"` // 0: to the end
	Logs  []string `json:"logs"` // empty: any
}

// LogReport is one partition's log.
type LogReport struct {
	Topic      string          `json:"topic"` // its name, else its id
	TopicID    string          `json:"topicId"`
	Partition  int32           `json:"partition"`
	Checkpoint env.Seq         `json:"checkpoint"` // 0: none
	Start      int64           `json:"start"`
	Stored     int64           `json:"stored"` // by the checkpoint
	End        int64           `json:"end"`    // by the last entry
	Entries    int             `json:"entries"`
	Hurt       int             `json:"hurt"` // entries whose payload is damaged
	Lost       int64           `json:"lost"` // records that the checkpoint knows to be lost
	Segments   []SegmentReport `json:"segments"`

	id      env.LogID
	removed bool
	account corelog.Account
}

// SegmentReport is one segment file.
type SegmentReport struct {
	File    string `json:"file"`
	Bytes   int64  `json:"bytes"`
	Batches int    `json:"batches"`
	State   string `json:"state"` // sealed; open: stored to; new: no checkpoint names it yet; missing
	Fault   string `json:"fault,omitempty"`
}

// Inspect looks at a data directory, every byte of it.
func Inspect(dir string) (*Report, error) {
	info, err := readFormat(dir)
	if err == nil && info.fresh {
		err = fmt.Errorf("%s is not a data directory: it has no %s", dir, formatName)
	}
	if err != nil {
		return nil, err
	}
	r := &Report{Dir: dir, Format: formatVersion, InUseBy: inUse(dir), Sound: true, inDamage: map[string][16]byte{}}
	if r.Meta, err = readMeta(dir); err != nil {
		return nil, err
	}
	notes, err := acceptedLosses(dir)
	if err != nil {
		return nil, err
	}
	x := &inspection{Report: r, root: filepath.Join(dir, segmentsDir), logs: map[env.LogID]*LogReport{}, names: map[[16]byte]string{}}
	if err := x.journal(filepath.Join(dir, journalDir), info.journal); err != nil {
		return nil, err
	}
	if err := x.segments(); err != nil {
		return nil, err
	}
	x.finish(notes)
	return r, nil
}

// inUse is the pid of the process that has the directory.
func inUse(dir string) string {
	f, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		return ""
	}
	defer f.Close()
	if ok, err := lockFile(f); err != nil || ok {
		return "" // the lock goes with the descriptor
	}
	return lockHolder(dir)
}

// inspection is a Report on its way.
type inspection struct {
	*Report
	root  string
	logs  map[env.LogID]*LogReport
	names map[[16]byte]string
	lost  []env.Damage
}

func (x *inspection) log(id env.LogID) *LogReport {
	l := x.logs[id]
	if l == nil {
		l = &LogReport{TopicID: topicName(id.Topic), Partition: id.Partition, Segments: []SegmentReport{}, id: id}
		x.logs[id] = l
	}
	return l
}

func (x *inspection) journal(dir string, number uint64) error {
	s, err := takeSurvey(dir, number)
	if err != nil {
		return err
	}
	w := &s.walk
	x.lost = w.damage()
	x.Journal = JournalReport{Files: len(s.files), Bytes: s.bytes, Frames: w.frames, Entries: w.entries, Cut: w.cut, Last: w.seq,
		Torn: s.size - s.kept, Strays: s.odd, Unfinished: s.temps}
	v := newSurvivor(&Disk{opts: Options{}.withDefaults()}, s, nil)
	v.kept, v.live = s.kept, x.InUseBy != ""
	for {
		p, err := v.next()
		if err != nil {
			return err
		}
		for i := range p.Checkpoints {
			x.checkpoint(&p.Checkpoints[i])
		}
		for i := range p.Entries {
			x.entry(&p.Entries[i])
		}
		if p.Last {
			return nil
		}
	}
}

func (x *inspection) checkpoint(e *env.Entry) {
	l := x.log(e.Log)
	if a, ok := corelog.ReadAccount(e.Log, e.Header, e.Seq); ok {
		l.Checkpoint, l.account, l.removed = e.Seq, a, a.Removed
		l.Start, l.Stored, l.End, l.Lost = a.Start, a.Stored, a.End, a.Lost
	}
}

func (x *inspection) entry(e *env.Entry) {
	l := x.log(e.Log)
	l.Entries++
	if e.Damaged {
		l.Hurt++
		x.Sound = false
	}
	kind, r, _ := corejournal.Parse(e.Header)
	switch kind {
	case corejournal.KindRecords:
		if h, ok := corejournal.ParseRecords(r); ok {
			l.End = max(l.End, h.Last+1)
		}
		if e.Log.Topic == metadata.MetadataTopic() && !e.Damaged {
			x.learn(e.Payload)
		}
	case corejournal.KindStart:
		if h, ok := corejournal.ParseStart(r); ok {
			l.Start = max(l.Start, h.Start)
		}
	case corejournal.KindDrop:
		l.removed = true
	}
}

// learn reads topics' names from batches of the metadata log.
func (x *inspection) learn(data []byte) {
	for {
		b, rest, ok := record.Next(data)
		if !ok || !b.Sound() || b.Codec() != env.None {
			return
		}
		data = rest
		records, ok := record.Parse(b, b.Records())
		if !ok || b.Control() {
			continue
		}
		for i := range records {
			if m, err := metadata.Parse(records[i].Value); err == nil {
				if t, ok := m.(metadata.AddTopic); ok {
					x.names[t.ID] = t.Name
				}
			}
		}
	}
}

// segments compares the files with what the checkpoints say of them. A process
// that uses the directory may have dropped some since.
func (x *inspection) segments() error {
	found, err := listSegments(x.root, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		return err
	}
	there := map[env.SegmentID]bool{}
	for _, info := range found {
		there[info.ID] = true
		if err := x.segment(info); err != nil {
			return err
		}
	}
	for _, l := range x.logs {
		for i := range l.account.Segments {
			a := &l.account.Segments[i]
			if there[a.ID] || x.InUseBy != "" || l.removed || a.End <= l.Start || a.Size == 0 {
				continue
			}
			l.Segments = append(l.Segments, SegmentReport{File: x.relative(a.ID), State: "missing", Fault: "the journal counts on it"})
		}
	}
	return nil
}

func (x *inspection) segment(info env.SegmentInfo) error {
	data, err := os.ReadFile(segmentPath(x.root, info.ID))
	if os.IsNotExist(err) {
		return nil // dropped since, by the process that uses the directory
	}
	l := x.log(info.ID.Log())
	s := SegmentReport{File: x.relative(info.ID), Bytes: int64(len(data)), State: "new"}
	if err != nil {
		s.State, s.Fault = "unreadable", err.Error()
		l.Segments = append(l.Segments, s)
		return nil
	}
	if info.ID.Topic == metadata.MetadataTopic() {
		x.learn(data)
	}
	i := slices.IndexFunc(l.account.Segments, func(a corelog.SegmentAccount) bool { return a.ID == info.ID })
	if i < 0 {
		// What is stored behind the last checkpoint is stored again at a start.
		s.Batches, _, _, _ = corelog.CheckBatches(data, info.ID.Base)
	} else {
		a := &l.account.Segments[i]
		s.State = "open"
		if a.Sealed {
			s.State = "sealed"
		}
		s.Batches, s.Fault = a.Check(data)
	}
	l.Segments = append(l.Segments, s)
	return nil
}

func (x *inspection) relative(id env.SegmentID) string {
	return strings.TrimPrefix(segmentPath(x.root, id), x.root+string(filepath.Separator))
}

// finish sorts, names and judges.
func (x *inspection) finish(notes []env.LogID) {
	for _, l := range x.logs {
		if l.removed && len(l.Segments) == 0 && l.Hurt == 0 {
			continue
		}
		l.Topic = x.name(l.id.Topic)
		slices.SortFunc(l.Segments, func(a, b SegmentReport) int { return strings.Compare(a.File, b.File) })
		for _, s := range l.Segments {
			x.Sound = x.Sound && s.Fault == ""
		}
		x.Sound = x.Sound && l.Lost == 0
		x.Logs = append(x.Logs, *l)
	}
	slices.SortFunc(x.Logs, func(a, b LogReport) int {
		if c := strings.Compare(a.Topic, b.Topic); c != 0 {
			return c
		}
		return int(a.Partition) - int(b.Partition)
	})
	for _, d := range x.lost {
		x.Sound = false
		j := JournalDamage{After: d.After, Upto: d.Upto, Logs: []string{}}
		for _, id := range d.Logs {
			j.Logs = append(j.Logs, x.logName(id))
			x.inDamage[x.name(id.Topic)] = id.Topic
		}
		x.Journal.Damage = append(x.Journal.Damage, j)
	}
	for _, id := range notes {
		x.Accepted = append(x.Accepted, x.logName(id))
	}
}

func (x *inspection) logName(id env.LogID) string {
	return fmt.Sprintf("%s/%d", x.name(id.Topic), id.Partition)
}

// name is a topic's name as far as the directory tells it.
func (x *inspection) name(id [16]byte) string {
	switch {
	case id == metadata.MetadataTopic():
		return "__cluster_metadata"
	case id == [16]byte{}:
		return "(the shard)"
	case x.names[id] != "":
		return x.names[id]
	default:
		return topicName(id)
	}
}

// FindTopic is the id of a topic by its name, or by its id in Kafka's form or in
// hex. Of several that had the name it is the last in the report.
func (r *Report) FindTopic(name string) (id [16]byte, ok bool) {
	for i := range r.Logs {
		if r.Logs[i].Topic == name {
			id, ok = r.Logs[i].id.Topic, true
		}
	}
	if ok {
		return id, true
	}
	// A log whose every entry is lost stands only in the journal's damage.
	if id, ok = r.inDamage[name]; ok {
		return id, true
	}
	return parseTopic(name)
}
