package controller

import (
	"strings"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/metadata"
)

// nameMax is the longest topic name: a file name has at most 255 bytes, and Kafka
// leaves room for what it appends.
const nameMax = 249

// LegalName tells whether a topic may have the name, and if not why.
func LegalName(name string) Problem {
	illegal := func(why string) Problem {
		return problem(env.InvalidTopicException, "Topic name is invalid: %s", why)
	}
	switch {
	case name == "":
		return illegal("the empty string is not allowed")
	case name == "." || name == "..":
		return illegal("'" + name + "' is not allowed")
	case len(name) > nameMax:
		return illegal("it is longer than the max allowed length 249")
	case !legalLetters(name):
		return illegal("'" + printable(name) + "' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'")
	}
	return Problem{}
}

func legalLetters(name string) bool {
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// printable keeps an illegal name from damaging the message that quotes it.
func printable(name string) string { return strings.ToValidUTF8(name, "?") }

// Names with '.' and '_' in the same places collide: Kafka's metrics write both as '_'.
func flattened(name string) string { return strings.ReplaceAll(name, ".", "_") }

// takenNames finds the names that a new one would collide with. The image's are
// looked at once a request, and only if that is needed: there may be many.
type takenNames struct {
	filled bool
	flat   map[string]string // by flattened name
}

// collision is the name that a free name collides with; "" when there is none.
func (n *takenNames) collision(m *metadata.Image, name string) string {
	if !strings.ContainsAny(name, "._") {
		return ""
	}
	n.fill(m)
	return n.flat[flattened(name)]
}

func (n *takenNames) fill(m *metadata.Image) {
	if n.filled {
		return
	}
	n.filled, n.flat = true, make(map[string]string)
	for _, t := range m.Topics {
		n.take(m, t.Name)
	}
}

// take adds a name; names without '.' and '_' collide with none.
func (n *takenNames) take(m *metadata.Image, name string) {
	if strings.ContainsAny(name, "._") {
		n.fill(m)
		n.flat[flattened(name)] = name
	}
}
