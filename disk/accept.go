package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/orrery-log/orrery/core/env"
)

// AcceptLoss leaves a note in dir that the damage of a log is accepted. The next
// start finds it in AcceptedLosses. It may be called while another process uses dir.
func AcceptLoss(dir string, log env.LogID) error {
	if _, err := readFormat(dir); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, formatName)); err != nil {
		return fmt.Errorf("%s is not a data directory: %w", dir, err)
	}
	notes := filepath.Join(dir, acceptDir)
	if err := makeDir(notes); err != nil {
		return err
	}
	return replaceFile(filepath.Join(notes, noteName(log)), nil)
}

// AcceptedLosses are the logs whose damage an operator has accepted, for Config.
func (d *Disk) AcceptedLosses() ([]env.LogID, error) {
	return acceptedLosses(d.opts.Dir)
}

// ForgetAcceptedLosses removes the notes of these logs: the new life has
// journaled them, and a later damage is to be looked at anew.
func (d *Disk) ForgetAcceptedLosses(logs []env.LogID) error {
	notes := filepath.Join(d.opts.Dir, acceptDir)
	for _, log := range logs {
		if err := os.Remove(filepath.Join(notes, noteName(log))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if len(logs) == 0 {
		return nil
	}
	return syncDir(notes)
}

// noteName is <topic id, in hex>.<partition>.
func noteName(log env.LogID) string {
	return hexTopic(log.Topic) + "." + strconv.Itoa(int(log.Partition))
}

func acceptedLosses(dir string) ([]env.LogID, error) {
	entries, err := os.ReadDir(filepath.Join(dir, acceptDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var logs []env.LogID
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), tempTail) {
			continue
		}
		topic, partition, _ := strings.Cut(e.Name(), ".")
		id, ok := parseTopic(topic)
		p, err := strconv.ParseInt(partition, 10, 32)
		if !ok || err != nil {
			return nil, fmt.Errorf("%s is not the note of an accepted loss", filepath.Join(dir, acceptDir, e.Name()))
		}
		logs = append(logs, env.LogID{Topic: id, Partition: int32(p)})
	}
	slices.SortFunc(logs, func(a, b env.LogID) int { return strings.Compare(noteName(a), noteName(b)) })
	return logs, nil
}
