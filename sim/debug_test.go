package sim

import (
	"fmt"
	"testing"

	"github.com/orrery-log/orrery/core/journal"
	"github.com/orrery-log/orrery/core/record"
)

func TestDebug(t *testing.T) {
	debugFork = func(f *fork, id [16]byte) {
		for _, s := range f.names {
			if s.Topic != id {
				continue
			}
			data := f.files[s]
			end := s.Base
			n := 0
			rest := data
			for {
				b, r, ok := record.Next(rest)
				if !ok || b.Magic() != 2 {
					break
				}
				end = b.End()
				rest = r
				n++
			}
			fmt.Printf("%s %s: %d bytes, %d batches, base %d end %d, rest %d bytes %x\n", f.name, segmentName(s), len(data), n, s.Base, end, len(rest), rest[:min(len(rest), 100)])
		}
		fmt.Printf("%s journal %d..%d %d entries\n", f.name, f.journal[0].Seq, f.journal[len(f.journal)-1].Seq, len(f.journal))
		for i := range f.journal {
			e := &f.journal[i]
			kind, r, _ := journal.Parse(e.Header)
			if kind == journal.KindRecords && e.Log.Topic == id {
				h, _ := journal.ParseRecords(r)
				fmt.Printf("  %d records %d..%d\n", e.Seq, h.Base, h.Last)
			} else if e.Log.Topic == id {
				fmt.Print(" ", kind)
				fmt.Printf("  %d %x %v hdr %d payload %d\n", e.Seq, e.Log.Topic[:4], e.Checkpoint, len(e.Header), len(e.Payload))
			}
		}
		for _, n := range f.notes {
			fmt.Println(f.name, n)
		}
	}
	r, err := One(1, "calm", Orrery())
	fmt.Println(err, r.Failure)
}
