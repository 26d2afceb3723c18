package disk

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/orrery-log/orrery/core/env"
)

// A segment is DIR/<topic id, 32 hex digits>/<partition>/<base, 20 digits>-<gen>.log;
// a kind other than Data stands before ".log" as ".<kind>". Hex, because file
// systems exist that do not tell A from a.

func partitionDir(root string, log env.LogID) string {
	return filepath.Join(root, hexTopic(log.Topic), strconv.Itoa(int(log.Partition)))
}

func segmentPath(root string, id env.SegmentID) string {
	kind := ""
	if id.Kind != env.Data {
		kind = fmt.Sprintf(".%d", id.Kind)
	}
	return filepath.Join(partitionDir(root, id.Log()), fmt.Sprintf("%020d-%d%s.log", id.Base, id.Gen, kind))
}

// parseSegment reads the names below root. Not ok: they name no segment.
func parseSegment(topic, partition, file string) (id env.SegmentID, ok bool) {
	t, err := hex.DecodeString(topic)
	if err != nil || len(t) != 16 {
		return id, false
	}
	p, err := strconv.ParseInt(partition, 10, 32)
	if err != nil {
		return id, false
	}
	id.Topic, id.Partition = [16]byte(t), int32(p)
	stem, ok := strings.CutSuffix(file, ".log")
	if !ok {
		return id, false
	}
	stem, kind, hasKind := strings.Cut(stem, ".")
	base, gen, ok := strings.Cut(stem, "-")
	if !ok {
		return id, false
	}
	if id.Base, err = strconv.ParseInt(base, 10, 64); err != nil {
		return id, false
	}
	if id.Gen, err = strconv.ParseUint(gen, 10, 64); err != nil {
		return id, false
	}
	if hasKind {
		k, err := strconv.ParseUint(kind, 10, 8)
		if err != nil {
			return id, false
		}
		id.Kind = env.SegmentKind(k)
	}
	// What does not print back is no name of ours.
	return id, segmentPath("", id) == filepath.Join(topic, partition, file)
}

// topicName is a topic id as Kafka's tools print it.
func topicName(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// parseTopic reads a topic id in Kafka's form or in hex, with or without dashes.
func parseTopic(s string) (id [16]byte, ok bool) {
	if b, err := base64.RawURLEncoding.DecodeString(s); err == nil && len(b) == 16 {
		return [16]byte(b), true
	}
	if b, err := hex.DecodeString(strings.ReplaceAll(s, "-", "")); err == nil && len(b) == 16 {
		return [16]byte(b), true
	}
	return id, false
}

// listSegments finds every segment file below root. Other files are left alone.
func listSegments(root string, log *slog.Logger) ([]env.SegmentInfo, error) {
	var found []env.SegmentInfo
	topics, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	for _, topic := range topics {
		if !topic.IsDir() {
			log.Warn("not a segment: left alone", "file", topic.Name())
			continue
		}
		partitions, err := os.ReadDir(filepath.Join(root, topic.Name()))
		if err != nil {
			return nil, err
		}
		for _, partition := range partitions {
			if !partition.IsDir() {
				log.Warn("not a segment: left alone", "file", filepath.Join(topic.Name(), partition.Name()))
				continue
			}
			files, err := os.ReadDir(filepath.Join(root, topic.Name(), partition.Name()))
			if err != nil {
				return nil, err
			}
			for _, file := range files {
				id, ok := parseSegment(topic.Name(), partition.Name(), file.Name())
				if !ok || !file.Type().IsRegular() {
					log.Warn("not a segment: left alone", "file", filepath.Join(topic.Name(), partition.Name(), file.Name()))
					continue
				}
				info, err := file.Info()
				if err != nil {
					return nil, err
				}
				found = append(found, env.SegmentInfo{ID: id, Size: info.Size()})
			}
		}
	}
	return found, nil
}

// hexTopic is a topic's directory.
func hexTopic(id [16]byte) string { return hex.EncodeToString(id[:]) }
