package disk

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/interop/powerfs"
	"github.com/orrery-log/orrery/interop/process"
)

// A disk under loss of power: a file system that keeps only what was synced, and
// of the rest any subset, torn or zeroed. All obligations about order, fsyncs and
// names meet here; those of 1, 3, 4, 6 and 8 can not be seen without it.
//
// Each life of the child journals entries that no other life would write, cuts
// behind them, and fills one segment after the other. It tells what it was told.

// powerEntry is the entry that a life writes at seq. A life is named by its first Seq.
func powerEntry(life, seq env.Seq) env.Entry {
	e := entry(seq*1_000_003+life, byte(seq%5), 50+int(seq*7919)%6000)
	e.Seq = seq
	e.Sync = seq%3 != 0
	return e
}

func powerSegment(life env.Seq, n int) env.SegmentID {
	id := segmentID(byte(n%3), int64(n))
	id.Gen = uint64(life)
	id.Topic[2], id.Topic[3], id.Topic[4] = byte(n), byte(life), byte(life>>8) // a directory of its own
	return id
}

// powerBytes is the k-th Store of a life's n-th segment.
func powerBytes(life env.Seq, n, k int) []byte {
	return entry(life*31+env.Seq(n), byte(k), 3000).Payload
}

const powerStores = 5 // in a segment; the last seals it

func powerOptions(dir string) Options {
	return Options{Dir: dir, JournalFileBytes: 64 << 10, GroupBytes: 16 << 10, SealAfter: 5 * time.Millisecond, SyncAge: 5 * time.Millisecond, StoreSyncAge: 3 * time.Millisecond, SpaceEvery: time.Hour}
}

func powerChild(dir string) {
	d, err := Open(powerOptions(dir))
	must(err)
	next := env.Seq(1)
	for last := false; !last; {
		p, err := d.Survived()
		must(err)
		last = p.Last
		for _, e := range p.Entries {
			next = e.Seq + 1
		}
	}
	life, synced, cut := next, next-1, env.Seq(0)
	fmt.Println("from", life)
	segment, store := 0, 0
	for {
		var out env.Outbox
		for next <= synced+12 {
			out.Journal = append(out.Journal, powerEntry(life, next))
			next++
		}
		if synced > cut+40 && synced > life+20 {
			cut = synced - 20
			out.Cuts = append(out.Cuts, cut)
			fmt.Println("cut", cut)
		}
		d.Act(&out)
		select {
		case ev := <-d.Events():
			switch ev := ev.(type) {
			case env.Journaled:
				if ev.Synced > synced {
					synced = ev.Synced
					fmt.Println("synced", synced)
				}
				out.Reset()
				if store < powerStores && synced >= life { // a segment is opened by an entry that is synced
					id := powerSegment(life, segment)
					out.Stores = append(out.Stores, env.Store{Segment: id, At: int64(store) * 3000, Data: [][]byte{powerBytes(life, segment, store)}, Seal: store == powerStores-1, Sync: store%2 == 0})
					store++
				}
				d.Act(&out)
			case env.Stored:
				fmt.Println("stored", segment, ev.Synced)
				if ev.Synced == powerStores*3000 {
					segment, store = segment+1, 0
				}
			}
		case err := <-d.Failed():
			fmt.Println("failed", err)
			os.Exit(3)
		}
	}
}

// powerTruth is what a child said.
type powerTruth struct {
	lives  []env.Seq
	synced env.Seq
	cut    env.Seq
	stored map[env.SegmentID]int64
}

func (p *powerTruth) hear(line string) {
	var n env.Seq
	var segment int
	var bytes int64
	if _, err := fmt.Sscanf(line, "from %d", &n); err == nil {
		p.lives = append(p.lives, n)
	} else if _, err := fmt.Sscanf(line, "cut %d", &n); err == nil {
		p.cut = n
	} else if _, err := fmt.Sscanf(line, "synced %d", &n); err == nil {
		p.synced = n
	} else if _, err := fmt.Sscanf(line, "stored %d %d", &segment, &bytes); err == nil {
		p.stored[powerSegment(p.lives[len(p.lives)-1], segment)] = bytes
	}
}

// life is the last life that can have written seq.
func (p *powerTruth) life(seq env.Seq) env.Seq {
	for i := len(p.lives) - 1; i >= 0; i-- {
		if p.lives[i] <= seq {
			return p.lives[i]
		}
	}
	return 0
}

func TestALossOfPowerLosesNothingThatWasSynced(t *testing.T) {
	if err := powerfs.Available(); err != nil {
		process.Skip(t, "%v", err)
	}
	rounds := 12
	if os.Getenv(longKey) != "" {
		rounds = 100
	}
	fs, dir := powerfs.New(), t.TempDir()
	require.NoError(t, fs.Mount(dir))
	t.Cleanup(func() { require.NoError(t, fs.Unmount()) })
	data := filepath.Join(dir, "new", "data") // directories that must survive too
	dice := rand.New(rand.NewSource(5))
	truth := powerTruth{stored: map[env.SegmentID]int64{}}
	torn, failed := 0, 0
	for round := range rounds {
		fs.Slow(powerfs.OpSync, "", time.Duration(1+dice.Intn(3))*time.Millisecond)
		c := startChild(t, "power", data)
		kind := dice.Intn(4)
		if kind == 3 { // an I/O error somewhere: the process must end by itself
			op := []powerfs.Op{powerfs.OpWrite, powerfs.OpSync, powerfs.OpSync, powerfs.OpSyncDir, powerfs.OpName}[dice.Intn(5)]
			under := filepath.Join("new", "data", []string{journalDir, segmentsDir}[dice.Intn(2)])
			fs.Fail(op, under, 1+dice.Intn(20), -1, syscall.EIO)
		}
		alive := true
		for n := dice.Intn(60); n > 0 && alive || kind == 3 && alive; n-- {
			alive = c.raw(truth.hear)
			require.Less(t, len(c.said), 20_000, "it goes on after an I/O error")
		}
		time.Sleep(time.Duration(dice.Intn(4000)) * time.Microsecond)
		kill := func() { _ = c.cmd.Process.Kill() }
		if kind < 2 {
			fs.PowerOff(kill)
		}
		kill()
		for c.raw(truth.hear) {
		}
		_ = c.cmd.Wait()
		said := strings.Join(c.said, "\n")
		var left powerfs.Survival
		if kind < 2 {
			var err error
			left, err = fs.PowerOn(uint64(round))
			require.NoError(t, err)
		}
		if kind == 3 {
			failed++
			require.Contains(t, said, "failed")
		} else {
			require.NotContains(t, said, "failed")
		}
		fs.Heal()
		r := newRig(t, powerOptions(data))
		if r.d.Repaired() {
			torn++
		}
		checkPower(t, r, &truth, left)
		r.close()
	}
	t.Logf("%d rounds, %d I/O errors, %d torn tails, %d lives", rounds, failed, torn, len(truth.lives))
}

// raw takes the next line as it is.
func (c *childRun) raw(hear func(string)) bool {
	if !c.lines.Scan() {
		return false
	}
	hear(c.lines.Text())
	c.said = append(c.said, c.lines.Text())
	return true
}

func checkPower(t *testing.T, r *rig, truth *powerTruth, left powerfs.Survival) {
	t.Helper()
	require.Empty(t, r.found.Damage, "%v", left)
	have := map[env.Seq]bool{}
	for _, e := range r.found.Entries {
		want := powerEntry(truth.life(e.Seq), e.Seq)
		require.Equal(t, want, e, "entry %d is of another life than %d, or changed; %v", e.Seq, truth.life(e.Seq), left)
		have[e.Seq] = true
	}
	for seq := max(truth.cut, 1); seq <= truth.synced; seq++ {
		require.True(t, have[seq], "entry %d is lost: synced %d, cut %d, found %d; %v", seq, truth.synced, truth.cut, len(have), left)
	}
	sizes := map[env.SegmentID]int64{}
	for _, s := range r.found.Segments {
		sizes[s.ID] = s.Size
	}
	for id, n := range truth.stored {
		if n == 0 {
			continue // not even its name has to be there
		}
		require.GreaterOrEqual(t, sizes[id], n, "%v", left)
		data, err := os.ReadFile(segmentPath(filepath.Join(r.opts.Dir, segmentsDir), id))
		require.NoError(t, err)
		for k := range int(n) / 3000 {
			require.Equal(t, powerBytes(env.Seq(id.Gen), int(id.Base), k), data[k*3000:(k+1)*3000], "%v", left)
		}
	}
	// A later life may write other entries where this one's were lost.
	truth.synced = r.next - 1
}
