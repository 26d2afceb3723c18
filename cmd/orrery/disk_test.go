package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/disk"
)

// filled is a data directory that a broker has used, with sealed segments.
func filled(t *testing.T) string {
	dir := t.TempDir()
	args := []string{"serve"}
	for _, s := range []string{"listeners=PLAINTEXT://127.0.0.1:0", "log.dirs=" + dir, "log.segment.bytes=1048576",
		"orrery.store.bytes=65536", "orrery.checkpoint.interval.bytes=262144"} {
		args = append(args, "--set", s)
	}
	p := startProcess(t, args...)
	line, err := p.out.ReadString('\n')
	require.NoError(t, err)
	address := strings.TrimSpace(strings.TrimPrefix(line, "ready "))
	code, _, talk := orrery(t, "", "bench", "produce", "-b", address, "-n", "4000", "-p", "2", "-q")
	require.Zero(t, code, talk)
	code, out, _ := orrery(t, "", "disk", "inspect", dir)
	require.Zero(t, code, out)
	require.Contains(t, out, "in use by process ")
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	code, _, talk = p.end(t)
	require.Zero(t, code, talk)
	return dir
}

func inspected(t *testing.T, dir string) (r disk.Report, code int) {
	code, out, talk := orrery(t, "", "disk", "inspect", dir, "--json")
	require.NoError(t, json.Unmarshal([]byte(out), &r), talk)
	return r, code
}

// A journal may lose every entry of a log; its damage is then all that names it.
func TestTheLossOfAWholeLogIsAcceptedByItsName(t *testing.T) {
	dir := t.TempDir()
	p := startProcess(t, "serve", "--set", "listeners=PLAINTEXT://127.0.0.1:0", "--set", "log.dirs="+dir)
	line, err := p.out.ReadString('\n')
	require.NoError(t, err)
	address := strings.TrimSpace(strings.TrimPrefix(line, "ready "))
	for _, topic := range []string{"payments", "later"} {
		code, _, talk := orrery(t, "needle of "+topic+"\n", "produce", "-b", address, topic)
		require.Zero(t, code, talk)
	}
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	code, _, talk := p.end(t)
	require.Zero(t, code, talk)

	files, err := filepath.Glob(filepath.Join(dir, "journal", "*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	data, err := os.ReadFile(files[0])
	require.NoError(t, err)
	needle := strings.Index(string(data), "needle of payments")
	require.Positive(t, needle)
	frame := strings.LastIndex(string(data[:needle]), "OJ\xf2\xa1") // its magic
	require.Positive(t, frame)
	data[frame] ^= 4
	require.NoError(t, os.WriteFile(files[0], data, 0o600))

	code, out, talk := orrery(t, "", "disk", "inspect", dir)
	require.Equal(t, 1, code, talk)
	require.Contains(t, out, "are lost, of payments/0")
	require.NotRegexp(t, `(?m)^payments`, out)
	code, _, talk = orrery(t, "", "disk", "accept-loss", dir, "payments", "0")
	require.Zero(t, code, talk)
	_, out, _ = orrery(t, "", "disk", "inspect", dir)
	require.Contains(t, out, "accepted  the loss of payments/0")
}

func TestInspectTellsASoundDirectoryFromADamagedOne(t *testing.T) {
	dir := filled(t)
	r, code := inspected(t, dir)
	require.Zero(t, code)
	require.True(t, r.Sound)
	require.Empty(t, r.InUseBy)
	records, sealed := int64(0), ""
	for _, l := range r.Logs {
		if l.Topic != "bench" {
			continue
		}
		records += l.End - l.Start
		for _, s := range l.Segments {
			if s.State == "sealed" {
				sealed = s.File
			}
		}
	}
	require.Equal(t, int64(4000), records)
	require.NotEmpty(t, sealed)

	path := filepath.Join(dir, "segments", sealed)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, at := range []int{1000, 3, len(data) - 30} { // in a record; in an offset, which no batch's checksum covers; in the footer
		data[at] ^= 4
		require.NoError(t, os.WriteFile(path, data, 0o600))
		code, out, _ := orrery(t, "", "disk", "inspect", dir)
		require.Equal(t, 1, code, "byte %d", at)
		require.Contains(t, out, sealed)
		require.Contains(t, out, "DAMAGED")
		data[at] ^= 4
	}
	require.NoError(t, os.Remove(path))
	code, out, _ := orrery(t, "", "disk", "inspect", dir)
	require.Equal(t, 1, code)
	require.Contains(t, out, "the journal counts on it")
}

func TestAcceptLossTakesANameAndLeavesANote(t *testing.T) {
	dir := filled(t)
	code, _, talk := orrery(t, "", "disk", "accept-loss", dir, "bench", "1")
	require.Zero(t, code, talk)
	r, _ := inspected(t, dir)
	require.Equal(t, []string{"bench/1"}, r.Accepted)
	id := ""
	for _, l := range r.Logs {
		if l.Topic == "bench" {
			id = l.TopicID
		}
	}
	code, _, talk = orrery(t, "", "disk", "accept-loss", dir, id, "0")
	require.Zero(t, code, talk)
	r, _ = inspected(t, dir)
	require.Equal(t, []string{"bench/0", "bench/1"}, r.Accepted)

	for _, wrong := range [][]string{{dir, "no-such-topic", "0"}, {dir, "bench", "x"}, {dir, "bench", "-1"}, {t.TempDir(), "bench", "0"}} {
		code, _, talk := orrery(t, "", append([]string{"disk", "accept-loss", "--"}, wrong...)...)
		require.Equal(t, 2, code, "%v: %s", wrong, talk)
	}
}

func TestInspectRefusesWhatIsNoDataDirectory(t *testing.T) {
	code, _, talk := orrery(t, "", "disk", "inspect", filepath.Join(t.TempDir(), "nothing"))
	require.Equal(t, 2, code)
	require.Contains(t, talk, "no such file")
	code, _, talk = orrery(t, "", "disk", "inspect", t.TempDir())
	require.Equal(t, 2, code)
	require.Contains(t, talk, "is not a data directory")
}
