package config

import (
	"fmt"
	"strings"
)

// Setting is one row of a table.
type Setting struct {
	Name string
	Type Type
	// Default is the value when nothing is set. Null settings have none.
	Default string
	Null    bool
	Rule    Rule
	Update  Update
	// Synonyms are the names that count when this one is not set, in order. For a
	// topic setting they are broker settings. Scale turns their unit into this one's.
	Synonyms []Synonym
	Doc      string
}

// Synonym is another name whose value, times Scale, counts.
type Synonym struct {
	Name  string
	Scale int64 // 0: the value as it is
}

// Scope says whose setting it is.
type Scope uint8

// The two tables.
const (
	Broker Scope = iota
	Topic
)

func (s Scope) String() string {
	if s == Topic {
		return "topic"
	}
	return "broker"
}

// Type is what a value is. The numbers are Kafka's, as DescribeConfigs sends them.
type Type int8

// Kafka's config types. A Double is a decimal fraction, kept as text and as
// millionths: the core has no floats.
const (
	Boolean Type = 1
	String  Type = 2
	Int     Type = 3
	Short   Type = 4
	Long    Type = 5
	Double  Type = 6
	List    Type = 7
)

// Update says how a broker setting can change while the broker lives.
type Update uint8

const (
	// ReadOnly settings are read at the start.
	ReadOnly Update = iota
	// Dynamic settings can be set for one broker or for all, and count at once.
	Dynamic
)

// Rule says which values of the type are allowed. The zero Rule allows all.
type Rule struct {
	Bounded  bool
	Min, Max int64 // for numbers; millionths for a Double
	Also     []int64
	OneOf    []string // for strings, and for each element of a list
	Form     Form
}

// Form names the rules that are more than a range or a list of words.
type Form uint8

const (
	free      Form = iota
	listeners      // NAME://HOST:PORT, separated by commas
	one            // a list of exactly one element
	throttled      // * or PARTITION:BROKER, separated by commas
	address        // HOST:PORT or nothing
	mapping        // NAME:PROTOCOL, separated by commas
)

func atLeast(n int64) Rule                { return Rule{Bounded: true, Min: n, Max: maxLong} }
func between(a, b int64) Rule             { return Rule{Bounded: true, Min: a, Max: b} }
func oneOf(words ...string) Rule          { return Rule{OneOf: words} }
func formed(f Form) Rule                  { return Rule{Form: f} }
func (r Rule) also(n ...int64) Rule       { r.Also = n; return r }
func scaled(n string, by int64) []Synonym { return []Synonym{{Name: n, Scale: by}} }
func same(n string) []Synonym             { return []Synonym{{Name: n}} }

const (
	maxInt  = 1<<31 - 1
	maxLong = 1<<63 - 1
	kib     = 1 << 10
	mib     = 1 << 20

	maxLongText = "9223372036854775807"
	maxIntText  = "2147483647"
)

// Check normalises a value: blanks trimmed, numbers and words in their one
// spelling. A problem, when it is not empty, is a sentence that says what to
// write instead; then normal is empty.
func (s *Setting) Check(value string) (normal, problem string) {
	v := strings.Trim(value, " \t\r\n\f")
	switch s.Type {
	case Boolean:
		return s.checkBoolean(v)
	case Int, Short, Long:
		return s.checkNumber(v)
	case Double:
		return s.checkDouble(v)
	case List:
		return s.checkList(v)
	case String:
		return s.checkString(v)
	default:
		panic(fmt.Sprintf("config: %s has type %d", s.Name, s.Type))
	}
}

func (s *Setting) bad(value, want string) (normal, problem string) {
	if len(value) > 60 {
		value = value[:60] + "…"
	}
	return "", fmt.Sprintf("Invalid value %q for configuration %s: write %s.", value, s.Name, want)
}

func (s *Setting) checkBoolean(v string) (normal, problem string) {
	v = strings.ToLower(v)
	if v != "true" && v != "false" {
		return s.bad(v, "true or false")
	}
	if len(s.Rule.OneOf) > 0 && s.Rule.OneOf[0] != v {
		return s.bad(v, s.Rule.OneOf[0]+", since this broker has nothing else")
	}
	return v, ""
}

func (s *Setting) checkNumber(v string) (normal, problem string) {
	lo, hi := s.bounds()
	n, ok := parseLong(v)
	if ok && n >= lo && n <= hi {
		return formatLong(n), ""
	}
	for _, a := range s.Rule.Also {
		if ok && n == a {
			return formatLong(n), ""
		}
	}
	return s.bad(v, "a whole number "+rangeText(lo, hi, s.Rule.Also))
}

// bounds are the rule's, within what the type can hold.
func (s *Setting) bounds() (lo, hi int64) {
	switch s.Type {
	case Int:
		lo, hi = -maxInt-1, maxInt
	case Short:
		lo, hi = -1<<15, 1<<15-1
	default:
		lo, hi = -maxLong-1, maxLong
	}
	if s.Rule.Bounded {
		lo, hi = max(lo, s.Rule.Min), min(hi, s.Rule.Max)
	}
	return lo, hi
}

func rangeText(lo, hi int64, also []int64) string {
	text := fmt.Sprintf("from %d to %d", lo, hi)
	switch {
	case hi == maxLong && lo == -maxLong-1:
		text = "of at most 64 bits"
	case hi == maxLong || hi == maxInt:
		text = fmt.Sprintf("of at least %d and at most %d", lo, hi)
	}
	for _, a := range also {
		text += fmt.Sprintf(", or %d", a)
	}
	return text
}

func (s *Setting) checkDouble(v string) (normal, problem string) {
	n, ok := parseMillionths(v)
	lo, hi := int64(-maxLong-1), int64(maxLong)
	if s.Rule.Bounded {
		lo, hi = s.Rule.Min, s.Rule.Max
	}
	if !ok || n < lo || n > hi {
		want := "a decimal fraction of at most six places, such as 0.5"
		if s.Rule.Bounded {
			want += fmt.Sprintf(", from %s to %s", formatMillionths(lo), formatMillionths(hi))
		}
		return s.bad(v, want)
	}
	return formatMillionths(n), ""
}

func (s *Setting) checkString(v string) (normal, problem string) {
	if len(v) > ValueMax {
		return s.bad(v, fmt.Sprintf("at most %d bytes", ValueMax))
	}
	if len(s.Rule.OneOf) > 0 && !contains(s.Rule.OneOf, v) {
		return s.bad(v, "one of "+strings.Join(s.Rule.OneOf, ", "))
	}
	if want := badForm(s.Rule.Form, v, nil); want != "" {
		return s.bad(v, want)
	}
	return v, ""
}

// ValueMax bounds a value: old protocol versions carry lengths of 16 bits.
const ValueMax = 32 * kib / 2

func (s *Setting) checkList(v string) (normal, problem string) {
	if len(v) > ValueMax {
		return s.bad(v, fmt.Sprintf("at most %d bytes", ValueMax))
	}
	elements := SplitList(v)
	seen := make(map[string]bool, len(elements))
	for _, e := range elements {
		if len(s.Rule.OneOf) > 0 && !contains(s.Rule.OneOf, e) {
			return s.bad(v, "a list of "+strings.Join(s.Rule.OneOf, ", "))
		}
		if e == "" {
			return s.bad(v, "elements separated by single commas")
		}
		if seen[e] {
			return s.bad(v, fmt.Sprintf("%q once", e))
		}
		seen[e] = true
	}
	if want := badForm(s.Rule.Form, v, elements); want != "" {
		return s.bad(v, want)
	}
	return strings.Join(elements, ","), ""
}

// badForm says what to write when the value does not have the form, else "".
func badForm(f Form, v string, elements []string) string {
	switch f {
	case free:
	case one:
		if len(elements) != 1 {
			return "exactly one"
		}
	case listeners:
		for _, e := range elements {
			if _, ok := ParseListener(e); !ok {
				return "NAME://HOST:PORT, for example PLAINTEXT://localhost:9092"
			}
		}
	case throttled:
		return badThrottled(v, elements)
	case address:
		if v != "" {
			if _, _, ok := splitHostPort(v); !ok {
				return "HOST:PORT, for example localhost:9464, or nothing"
			}
		}
	case mapping:
		for _, e := range SplitList(v) {
			name, protocol, ok := strings.Cut(e, ":")
			if !ok || name == "" || protocol == "" {
				return "NAME:PROTOCOL, separated by commas, for example PLAINTEXT:PLAINTEXT"
			}
		}
	}
	return ""
}

func badThrottled(v string, elements []string) string {
	if v == "*" {
		return ""
	}
	for _, e := range elements {
		partition, broker, ok := strings.Cut(e, ":")
		p, okP := parseLong(partition)
		b, okB := parseLong(broker)
		if !ok || !okP || !okB || p < 0 || b < 0 {
			return "* or PARTITION:BROKER, separated by commas"
		}
	}
	return ""
}

func contains(words []string, w string) bool {
	for _, x := range words {
		if x == w {
			return true
		}
	}
	return false
}
