package disk

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
)

// Obligation 1 of the library's list: it answers "log corrupt" for each of these.
func TestATailTornAnywhereInItsLastEntryIsCutAndTheJournalGoesOn(t *testing.T) {
	c := newCraft(t)
	kept := append(c.add(0, 0, 1), c.add(1, 0, 2)...)
	c.add(2, 0, 3)
	last := c.frame[2]
	data, err := os.ReadFile(last.path)
	require.NoError(t, err)
	for cut := last.pos + 1; cut < last.end; cut++ {
		require.NoError(t, os.WriteFile(last.path, data[:cut], 0o600))
		s, err := takeSurvey(filepath.Dir(last.path), 77)
		require.NoError(t, err)
		require.True(t, s.torn, "cut at %d", cut)
		require.Equal(t, last.pos, s.kept)
		require.Equal(t, env.Seq(2), s.walk.seq)
		require.Empty(t, s.walk.damage())
		if (cut-last.pos)%50 != 1 {
			continue
		}
		r := newRig(t, Options{Dir: copyDir(t, c.dir), SealAfter: time.Hour})
		r.expect(kept...)
		require.True(t, r.d.Repaired())
		require.Contains(t, r.log.String(), "torn")
		require.Empty(t, r.found.Damage)
		more := r.entry(4, 50)
		r.journal(more)
		r.reopen()
		r.expect(append(kept, more)...)
		require.False(t, r.d.Repaired())
		r.close()
	}
}

// Obligation 3: the library reads zeros as empty entries.
func TestZerosAreNeverEntries(t *testing.T) {
	c := newCraft(t)
	kept := append(c.add(0, 0, 1), c.add(1, 0, 2)...)
	f, err := os.OpenFile(c.path(), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.Write(make([]byte, 512))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	r := c.open()
	r.expect(kept...)
	require.True(t, r.d.Repaired())

	c = newCraft(t)
	kept = append(c.add(0, 0, 1), c.add(1, 0, 2)...)
	c.add(2, 0, 3, 3, 3)
	c.zero(2)
	r = c.open()
	r.expect(kept...)
	require.True(t, r.d.Repaired())
}

func TestAFileOfZerosInThePlaceOfTheJournalIsATear(t *testing.T) {
	c := newCraft(t)
	require.NoError(t, os.WriteFile(c.path(), make([]byte, 100_000), 0o600))
	r := c.open()
	require.Empty(t, r.found.Entries)
	require.True(t, r.d.Repaired())
	e := r.entry(1, 10)
	r.journal(e)
	r.reopen()
	r.expect(e)
}

// Obligation 4.
func TestALostFrameOfAGroupThatWasNotSyncedIsATearThoughSoundFramesFollow(t *testing.T) {
	c := newCraft(t)
	kept := append(c.add(0, 0, 1), c.add(1, 0, 2)...)
	c.add(2, 0, 3)
	c.add(2, 0, 4)
	c.add(2, 0, 5)
	c.zero(2)
	r := c.open()
	r.expect(kept...)
	require.Empty(t, r.found.Damage)
	require.True(t, r.d.Repaired())

	// The frames that were cut off must not come back behind what is written now.
	other := r.entry(9, 100)
	r.journal(other)
	r.reopen()
	r.expect(append(kept, other)...)
}

func TestADamagedFrameThatALaterOneNamesSyncedIsDamage(t *testing.T) {
	c := newCraft(t)
	a := c.add(0, 0, 1)
	c.add(1, 0, 2, 3)
	b := c.add(3, 0, 4) // names 3 synced, and the logs 2 and 3
	c.hurt(1, headerByte, 1)
	r := c.open()
	r.expect(append(a, b...)...)
	require.Equal(t, []env.Damage{{Logs: []env.LogID{logID(2), logID(3)}, After: 1, Upto: 4}}, r.found.Damage)
	require.False(t, r.d.Repaired())
	require.Contains(t, r.log.String(), "damaged")

	// It is told at each start, until the cut has passed it.
	r.reopen()
	require.Len(t, r.found.Damage, 1)
	r.journal(r.entry(1, 10))
	r.d.Act(&env.Outbox{Cuts: []env.Seq{4}})
	r.journal(r.entry(1, 10))
	r.reopen()
	require.Empty(t, r.found.Damage)
	require.Equal(t, []int{4, 5, 6}, seqs(r.found.Entries))
}

func TestADamagedFrameBeforeALaterFileIsDamage(t *testing.T) {
	c := newCraft(t)
	a := c.add(0, 0, 1)
	c.add(0, 0, 2)
	c.roll()
	c.hurt(1, headerByte, 1)
	r := c.open()
	r.expect(a...)
	require.Equal(t, []env.Damage{{After: 1}}, r.found.Damage, "no frame behind it names its logs")
	require.False(t, r.d.Repaired())

	r.next = 10 // the core skips what may have been used
	e := r.entry(5, 10)
	r.journal(e)
	r.reopen()
	r.expect(append(a, e)...)
	require.Equal(t, []env.Damage{{After: 1, Upto: 10}}, r.found.Damage)
}

func TestAJournalWhoseOldFilesAreGoneSaysNothingOfDamage(t *testing.T) {
	r := newRig(t, Options{JournalFileBytes: 1000, SealAfter: time.Millisecond})
	for range 10 {
		r.journal(r.entry(1, 300))
	}
	r.d.Act(&env.Outbox{Cuts: []env.Seq{9}})
	dir := filepath.Join(r.opts.Dir, journalDir)
	first := filepath.Join(dir, journalName(1))
	require.Eventually(t, func() bool {
		_, err := os.Stat(first)
		return os.IsNotExist(err)
	}, 10*time.Second, 2*time.Millisecond)
	r.reopen()
	require.Empty(t, r.found.Damage)
	require.NotContains(t, r.log.String(), "damaged")
}

func TestDamageBelowTheCutIsNotTold(t *testing.T) {
	c := newCraft(t)
	c.add(0, 0, 1)
	c.add(1, 0, 2)
	a := append(c.add(2, 0, 3), c.add(3, 3, 3)...)
	c.hurt(1, headerByte, 1)
	r := c.open()
	r.expect(a...)
	require.Empty(t, r.found.Damage)
}

func TestTwoLostFramesLeaveNoListOfLogs(t *testing.T) {
	c := newCraft(t)
	a := c.add(0, 0, 1)
	c.add(1, 0, 2)
	c.add(2, 0, 3)
	b := c.add(3, 0, 4)
	c.hurt(1, headerByte, 1)
	c.hurt(2, headerByte, 1)
	r := c.open()
	r.expect(append(a, b...)...)
	require.Equal(t, []env.Damage{{After: 1, Upto: 4}}, r.found.Damage)
}

func TestADamagedPayloadCostsThatEntryOnly(t *testing.T) {
	c := newCraft(t)
	a := c.add(0, 0, 1)
	hurt := c.add(1, 0, 2, 3)
	b := c.add(3, 0, 4)
	c.hurt(1, payloadByte, 1)
	r := c.open()
	hurt[1].Damaged, hurt[1].Payload = true, nil
	r.expect(append(append(a, hurt...), b...)...)
	require.Empty(t, r.found.Damage, "the entry tells it")
}

func TestADamagedEntryHeaderCostsTheLogsOfItsFrame(t *testing.T) {
	c := newCraft(t)
	a := c.add(0, 0, 1)
	hurt := c.add(1, 0, 2, 3, 4)
	b := c.add(4, 0, 5)
	c.hurt(1, -2*(entryFixed+3+100)+5, 1) // the second entry's topic
	r := c.open()
	r.expect(a[0], hurt[0], hurt[2], b[0])
	require.Equal(t, []env.Damage{{Logs: []env.LogID{logID(3), logID(4)}, After: 2, Upto: 4}}, r.found.Damage)
}

func TestADamagedLastGroupWithNothingBehindItIsTakenForATear(t *testing.T) {
	c := newCraft(t)
	a := c.add(0, 0, 1)
	c.add(1, 0, 2) // it was synced, but no one else knows
	c.hurt(1, payloadByte, 1)
	r := c.open()
	r.expect(a...)
	require.True(t, r.d.Repaired())
}

func TestAClosedJournalHasNoSuchGroup(t *testing.T) {
	r := newRig(t, Options{})
	r.journal(r.entry(1, 100))
	want := r.entry(2, 100)
	r.journal(want)
	r.close()
	path := filepath.Join(r.opts.Dir, journalDir, journalName(1))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	second := walk{journal: frameNumber(t, data), index: 1, seq: 1}
	_, _, at, ok := second.nextFrame(data, 1)
	require.True(t, ok)
	data[at+headerByte] ^= 1
	require.NoError(t, os.WriteFile(path, data, 0o600))
	r.open()
	require.Equal(t, []int{1}, seqs(r.found.Entries))
	require.Equal(t, []env.Damage{{Logs: []env.LogID{logID(2)}, After: 1, Upto: 3}}, r.found.Damage)
	require.False(t, r.d.Repaired())
	more := r.entry(1, 10)
	r.journal(more)
	r.reopen()
	require.Equal(t, []int{1, 3}, seqs(r.found.Entries))
}

func TestAQuietJournalNamesAllOfItSynced(t *testing.T) {
	r := newRig(t, Options{SealAfter: time.Millisecond})
	r.journal(r.entry(1, 100))
	require.Eventually(t, func() bool {
		s, err := takeSurvey(filepath.Join(r.opts.Dir, journalDir), 0)
		return err == nil && s.walk.named == 1
	}, 10*time.Second, 2*time.Millisecond)
}

func frameNumber(t *testing.T, data []byte) uint64 {
	for k := range 10 {
		if f, ok := parseFrame(data[k:]); ok {
			return f.journal
		}
	}
	t.Fatal("no frame")
	return 0
}

// A record may hold the bytes of a frame. A search behind damage must not find it.
func TestAFrameInsideARecordIsNotTakenForOne(t *testing.T) {
	forged, _ := appendFrame(nil, frameHead{journal: 78, index: 3, first: 4, synced: 3}, []env.Entry{entry(4, 9, 10)})
	c := newCraft(t)
	a := c.add(0, 0, 1)
	c.head.index++
	c.head.synced, c.head.logs = 1, c.list.logs
	e := entry(2, 2, 0)
	e.Payload = forged
	data, crc := appendFrame(nil, c.head, []env.Entry{e})
	c.head.before, c.head.first = crc, 3
	old, err := os.ReadFile(c.path())
	require.NoError(t, err)
	data = append([]byte{byte(len(data)) | 0x80, byte(len(data) >> 7)}, data...)
	data[headerByte] ^= 1
	require.NoError(t, os.WriteFile(c.path(), append(old, data...), 0o600))
	b := c.add(2, 0, 3)
	r := c.open()
	r.expect(append(a, b...)...)
	require.Equal(t, env.Seq(3), r.found.Damage[0].Upto)
}
