package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// orrery runs the command line and returns its exit code, stdout and stderr.
func orrery(t *testing.T, stdin string, args ...string) (code int, out, talk string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(stdin), &o, &e)
	return code, o.String(), e.String()
}

const (
	sent  = `{"event":1,"type":"invoke","process":1,"op":"produce","topic":"t","records":[{"id":1}]}` + "\n" + `{"event":2,"type":"ok","of":1,"offset":0}` + "\n"
	asked = `{"event":3,"type":"invoke","process":2,"op":"poll","topic":"t","offset":0}` + "\n"
)

func TestCheckEndsWithTheVerdictsCode(t *testing.T) {
	cases := []struct {
		name, history string
		code          int
		says          string
	}{
		{"holds", sent + asked + `{"event":4,"type":"ok","of":3,"records":[{"id":1,"offset":0}]}`, 0, "HOLDS: 2 operations"},
		{"broken", sent + asked + `{"event":4,"type":"ok","of":3,"records":[{"id":2,"offset":0}]}`, 1, "inconsistent-offsets in t/0 at offset 0"},
		{"not told", sent, 4, "UNKNOWN"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "history.jsonl")
			require.NoError(t, os.WriteFile(file, []byte(c.history), 0o600))
			code, out, talk := orrery(t, "", "check", file)
			require.Equal(t, c.code, code, "%s%s", out, talk)
			require.Contains(t, out, c.says)
			code, again, _ := orrery(t, c.history, "check", "-")
			require.Equal(t, c.code, code)
			require.Equal(t, out, again)
		})
	}
}

func TestCheckRefusesWhatItCannotRead(t *testing.T) {
	code, _, talk := orrery(t, "what is this\n", "check", "-")
	require.Equal(t, 2, code)
	require.Contains(t, talk, "orrery: stdin: line 1: not an event as FORMAT tells")
	code, _, talk = orrery(t, "", "check", filepath.Join(t.TempDir(), "none"))
	require.Equal(t, 2, code)
	require.Contains(t, talk, "no such file")
	code, _, talk = orrery(t, "", "check")
	require.Equal(t, 2, code)
	require.Contains(t, talk, "accepts 1 arg(s), received 0")
}

func TestCheckDrawsThePicture(t *testing.T) {
	picture := filepath.Join(t.TempDir(), "picture.html")
	history := sent + asked + `{"event":4,"type":"ok","of":3,"records":[{"id":1,"offset":0}]}`
	code, _, talk := orrery(t, history, "check", "-", "--html", picture)
	require.Zero(t, code, talk)
	page, err := os.ReadFile(picture)
	require.NoError(t, err)
	require.Contains(t, string(page), "append [0, 1) records [1]")
}

func TestEveryCommandHasAnExample(t *testing.T) {
	began := false
	commands := rootCommand(&began).Commands()
	for len(commands) > 0 {
		cmd := commands[0]
		commands = append(commands[1:], cmd.Commands()...)
		if cmd.Name() != "help" && cmd.Name() != "completion" {
			require.Contains(t, cmd.Example, "orrery "+strings.TrimPrefix(cmd.CommandPath(), "orrery "), "orrery %s --help", cmd.CommandPath())
		}
	}
}
