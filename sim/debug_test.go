package sim

import (
	"fmt"
	"os"
	"reflect"
	"strconv"
	"testing"

	"github.com/orrery-log/orrery/core/broker"
)

func TestDebug(t *testing.T) {
	kit := Orrery()
	n, _ := strconv.Atoi(os.Getenv("SEED"))
	at, _ := strconv.Atoi(os.Getenv("STEP"))
	kit.Inspect = func(w *world) {
		if int(w.steps) == at {
			v := reflect.ValueOf(w.m.(*broker.Broker)).Elem()
			for _, f := range []string{"phase", "tails", "keeper", "lobby", "starved", "reading", "unsent", "space", "lim", "admin"} {
				fmt.Printf("%s: %.1500s\n", f, fmt.Sprintf("%+v", v.FieldByName(f)))
			}
			j := v.FieldByName("journal")
			for _, f := range []string{"next", "written", "synced", "cut", "unwritten", "behind"} {
				fmt.Printf("journal.%s: %v\n", f, j.FieldByName(f))
			}
			parts := v.FieldByName("parts")
			for i := range parts.Len() {
				p := parts.Index(i)
				l := p.FieldByName("rep").FieldByName("Log")
				if l.IsNil() {
					continue
				}
				l = l.Elem()
				fmt.Printf("part %d %v live %v: start %v end %v written %v synced %v want %v tail bytes %v unstored %v damage %+v\n", i, p.FieldByName("topic"), p.FieldByName("live"),
					l.FieldByName("start"), l.FieldByName("end"), l.FieldByName("written"), l.FieldByName("synced"), l.FieldByName("want"), l.FieldByName("tail").FieldByName("bytes"), l.FieldByName("tail").FieldByName("unstored"), l.FieldByName("damage"))
				segs := l.FieldByName("segments")
				for k := range segs.Len() {
					s := segs.Index(k)
					fmt.Printf("    seg %v from %v end %v size %v written %v synced %v state %v\n", s.FieldByName("id"), s.FieldByName("from"), s.FieldByName("end"), s.FieldByName("size"), s.FieldByName("written"), s.FieldByName("synced"), s.FieldByName("state"))
				}
			}
		}
	}
	r, err := One(uint64(n), os.Getenv("PROFILE"), kit)
	fmt.Println(err, r.Failure)
}
