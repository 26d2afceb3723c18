package disk

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
)

func TestInspectTellsATearFromDamageAndChangesNothing(t *testing.T) {
	c := newCraft(t)
	c.add(0, 0, 1)
	c.add(1, 0, 2)
	c.add(2, 0, 3)
	c.add(2, 0, 4)
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, journalDir, "notes.txt"), nil, 0o600))
	report := func() *Report {
		before := readAll(t, c.dir)
		r, err := Inspect(c.dir)
		require.NoError(t, err)
		require.Equal(t, before, readAll(t, c.dir))
		return r
	}
	r := report()
	require.True(t, r.Sound)
	require.Equal(t, JournalReport{Files: 1, Bytes: r.Journal.Bytes, Frames: 4, Entries: 4, Last: 4, Strays: []string{"notes.txt"}}, r.Journal)
	require.Len(t, r.Logs, 4)

	c.hurt(3, payloadByte, 1) // nothing names it synced
	r = report()
	require.True(t, r.Sound)
	require.Equal(t, c.frame[3].end-c.frame[3].pos, r.Journal.Torn)
	require.Equal(t, env.Seq(3), r.Journal.Last)

	c.hurt(0, payloadByte, 1)
	r = report()
	require.False(t, r.Sound)
	hurt := 0
	for _, l := range r.Logs {
		hurt += l.Hurt
	}
	require.Equal(t, 1, hurt)

	c.hurt(1, headerByte, 1)
	r = report()
	require.Equal(t, []JournalDamage{{After: 1, Upto: 3, Logs: []string{topicName(logID(2).Topic) + "/2"}}}, r.Journal.Damage)
}
