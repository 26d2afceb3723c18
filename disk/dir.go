package disk

import (
	"fmt"
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
			return nil, fmt.Errorf("data directory %s is in use by process %s", dir, pid)
		}
		return nil, fmt.Errorf("data directory %s is in use by another process", dir)
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

// checkFormat refuses a directory that is not ours or of another version.
// fresh: it has no format yet, and nothing that could be lost.
func checkFormat(dir string) (fresh bool, err error) {
	path := filepath.Join(dir, formatName)
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return true, checkFresh(dir)
	}
	if err != nil {
		return false, err
	}
	word, number, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	version, err := strconv.Atoi(number)
	if word != "orrery" || err != nil {
		return false, fmt.Errorf("%s does not name a format: it must read \"orrery %d\"", path, formatVersion)
	}
	if version != formatVersion {
		return false, fmt.Errorf("data directory %s has format %d; this orrery reads format %d only: use the version that wrote it", dir, version, formatVersion)
	}
	return false, nil
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
			return fmt.Errorf("data directory %s is not empty and not orrery's: it has %q but no %s", dir, name, formatName)
		}
	}
	return nil
}

// format makes an empty directory ours. The format file comes last: a start that
// dies before it leaves a directory that is still fresh.
func format(dir string) error {
	for _, d := range []string{journalDir, segmentsDir} {
		if err := makeDir(filepath.Join(dir, d)); err != nil {
			return err
		}
	}
	return replaceFile(filepath.Join(dir, formatName), fmt.Appendf(nil, "orrery %d\n", formatVersion))
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
