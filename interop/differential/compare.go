package differential

import (
	"fmt"
	"path"
	"sort"
	"strings"
)

// difference is one field that the two sides answer differently.
type difference struct {
	step, path   string
	kafka, ours  string // "" where that side has no such field
	hasK, hasOur bool
}

func (d difference) String() string {
	show := func(v string, has bool) string {
		if !has {
			return "(not there)"
		}
		return v
	}
	return fmt.Sprintf("%s: %s\n      Apache Kafka  %s\n      Orrery        %s", d.step, d.path, show(d.kafka, d.hasK), show(d.ours, d.hasOur))
}

func compare(kafka, ours []seen) []difference {
	var ds []difference
	for i := range kafka {
		step := kafka[i].step
		k, o := index(kafka[i].fields), index(ours[i].fields)
		for _, p := range paths(k, o) {
			kv, inK := k[p]
			ov, inO := o[p]
			if inK != inO || kv != ov {
				ds = append(ds, difference{step, p, kv, ov, inK, inO})
			}
		}
	}
	return ds
}

func index(fs []field) map[string]string {
	m := map[string]string{}
	for _, f := range fs {
		m[f.path] = f.value
	}
	return m
}

func paths(a, b map[string]string) []string {
	var ps []string
	for p := range a {
		ps = append(ps, p)
	}
	for p := range b {
		if _, both := a[p]; !both {
			ps = append(ps, p)
		}
	}
	sort.Strings(ps)
	return ps
}

// meaning is a difference that is meant, with the reason. Each empty pattern
// matches all; patterns are those of path.Match, where [ ] stand for themselves.
type meaning struct {
	key      int16
	from, to int16  // versions; both 0: all
	name     string // of the case
	step     string
	path     string
	kafka    string
	ours     string
	why      string
	maybe    bool // Apache Kafka answers one way or the other, so it may be of no use
}

func (m meaning) covers(key, version int16, name string, d difference) bool {
	if m.key != key || (m.from != 0 || m.to != 0) && (version < m.from || version > m.to) {
		return false
	}
	return like(m.name, name) && like(m.step, d.step) && like(m.path, d.path) && like(m.kafka, d.kafka) && like(m.ours, d.ours)
}

// like is path.Match without the meaning of / and [ ]; * matches everything.
func like(pattern, s string) bool {
	if pattern == "" {
		return true
	}
	plain := strings.NewReplacer("/", "|", "[", "(", "]", ")", `\`, "|")
	ok, err := path.Match(plain.Replace(pattern), plain.Replace(s))
	return err == nil && ok
}
