package disk

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	lockName   = "orrery.lock"
	formatName = "orrery.format"
	metaName   = "meta.properties"

	journalDir  = "journal"
	segmentsDir = "segments"
	acceptDir   = "accept-loss"
	straysDir   = "strays"

	// formatVersion is what this code reads and writes.
	formatVersion = 1
)

// lock makes the directory ours until the process ends or the file is closed.
// The library would open a directory twice without a word.
func lock(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, filePerm)
	if err != nil {
		return nil, err
	}
	ok, err := lockFile(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !ok {
		f.Close()
		if pid := lockHolder(dir); pid != "" {
			return nil, fmt.Errorf("data directory %s is in use by process %s: stop that, or set another log.dirs", dir, pid)
		}
		return nil, fmt.Errorf("data directory %s is in use by another process: stop that, or set another log.dirs", dir)
	}
	// The pid is for people only; it need not survive anything.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}

func lockHolder(dir string) string {
	data, _ := os.ReadFile(filepath.Join(dir, lockName))
	return strings.TrimSpace(string(data))
}

// formatInfo is what the format file says:
//
//	orrery 1
//	journal 8f3c60d1a2b4e597 1b2c3d4e
//
// the format's version, and the number that the journal's frames bear, with a
// CRC-32C of it: were it misread, every sound frame would look like a tear.
type formatInfo struct {
	fresh   bool   // there is none yet, and nothing that could be lost
	journal uint64 // 0: the line is damaged
}

// readFormat refuses a directory that is not ours or of another version.
func readFormat(dir string) (info formatInfo, err error) {
	path := filepath.Join(dir, formatName)
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return formatInfo{fresh: true}, checkFresh(dir)
	}
	if err != nil {
		return info, err
	}
	lines := strings.Split(string(data), "\n")
	word, number, _ := strings.Cut(strings.TrimSpace(lines[0]), " ")
	version, err := strconv.Atoi(number)
	if word != "orrery" || err != nil {
		return info, fmt.Errorf("%s does not name a format: it must begin with \"orrery %d\"", path, formatVersion)
	}
	if version != formatVersion {
		return info, fmt.Errorf("data directory %s has format %d; this orrery reads format %d only: use the version that wrote it", dir, version, formatVersion)
	}
	for _, line := range lines[1:] {
		var journal uint64
		if _, err := fmt.Sscanf(line, "journal %x", &journal); err == nil && line == journalLine(journal) {
			info.journal = journal
		}
	}
	return info, nil
}

func journalLine(number uint64) string {
	hex := fmt.Sprintf("%016x", number)
	return fmt.Sprintf("journal %s %08x", hex, crc32.Checksum([]byte(hex), castagnoli))
}

// checkFresh tells whether a directory without a format is one that may become
// ours: empty, or left by a start that did not come to its end.
func checkFresh(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case name == lockName, name == "lost+found", strings.HasSuffix(name, tempTail):
		case name == journalDir || name == segmentsDir:
			if inner, err := os.ReadDir(filepath.Join(dir, name)); err != nil {
				return err
			} else if len(inner) > 0 {
				return fmt.Errorf("data directory %s has a %s but no %s: it lost its format file, or is not orrery's", dir, name, formatName)
			}
		default:
			return fmt.Errorf("data directory %s is not empty and not orrery's: it has %q but no %s; set a new or empty directory in log.dirs", dir, name, formatName)
		}
	}
	return nil
}

// format makes an empty directory ours. The format file comes last: a start that
// dies before it leaves a directory that is still fresh.
func format(dir string, journal uint64) error {
	for _, d := range []string{journalDir, segmentsDir} {
		if err := makeDir(filepath.Join(dir, d)); err != nil {
			return err
		}
	}
	return replaceFile(filepath.Join(dir, formatName), fmt.Appendf(nil, "orrery %d\n%s\n", formatVersion, journalLine(journal)))
}

// readMeta reads the directory's facts: lines of name=value.
func readMeta(dir string) (map[string]string, error) {
	data, err := os.ReadFile(filepath.Join(dir, metaName))
	if os.IsNotExist(err) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	meta := map[string]string{}
	for _, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("%s: %q is not name=value", filepath.Join(dir, metaName), line)
		}
		meta[name] = value
	}
	return meta, nil
}

// writeMeta replaces the directory's facts, durably.
func writeMeta(dir string, meta map[string]string) error {
	var names []string
	for name, value := range meta {
		if strings.ContainsAny(name, "=\n#") || strings.Contains(value, "\n") || name == "" {
			return fmt.Errorf("%s can not hold %q=%q", metaName, name, value)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	var b []byte
	for _, name := range names {
		b = fmt.Appendf(b, "%s=%s\n", name, meta[name])
	}
	return replaceFile(filepath.Join(dir, metaName), b)
}
