package config

import "fmt"

// Settings are all settings of a scope, by name. The caller must not write to it.
func Settings(scope Scope) []Setting {
	if scope == Topic {
		return topicSettings
	}
	return brokerSettings
}

// Lookup finds a setting by its name.
func Lookup(scope Scope, name string) (*Setting, bool) {
	table := Settings(scope)
	lo, hi := 0, len(table)
	for lo < hi {
		mid := (lo + hi) / 2
		if table[mid].Name < name {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(table) && table[lo].Name == name {
		return &table[lo], true
	}
	return nil, false
}

// Check normalises the value of a named setting, or says what to write instead.
func Check(scope Scope, name, value string) (normal, problem string) {
	s, ok := Lookup(scope, name)
	if !ok {
		return "", Unknown(scope, name)
	}
	return s.Check(value)
}

// Ignored tells whether Kafka 4.3 knows the broker setting and it has no meaning here.
func Ignored(name string) bool {
	if contains(ignoredSettings, name) {
		return true
	}
	for _, p := range ignoredPrefixes {
		if len(name) > len(p) && name[:len(p)] == p {
			return true
		}
	}
	return false
}

// Unknown is the sentence for a name that is in no table: it suggests the one
// that was probably meant.
func Unknown(scope Scope, name string) string {
	text := fmt.Sprintf("Unknown %s config name: %s", scope, shorten(name))
	if meant := suggest(scope, name); meant != "" {
		text += fmt.Sprintf(". Did you mean %s?", meant)
	}
	return text
}

func shorten(name string) string {
	if len(name) > 100 {
		return name[:100] + "…"
	}
	return name
}

// suggest finds the name that was probably meant, or "". A topic's name in place
// of a broker's gives the broker setting that is its default, and the reverse.
func suggest(scope Scope, name string) string {
	for i := range topicSettings {
		t := topicSettings[i]
		for _, broker := range t.Synonyms {
			switch {
			case scope == Broker && t.Name == name:
				return broker.Name
			case scope == Topic && broker.Name == name:
				return t.Name
			}
		}
	}
	if len(name) > 100 {
		return ""
	}
	best, far := "", max(3, len(name)/4)+1
	for i := range Settings(scope) {
		candidate := Settings(scope)[i].Name
		if len(candidate) >= len(name)+far || len(name) >= len(candidate)+far {
			continue // and a request full of long names costs little
		}
		if d := distance(name, candidate, far); d < far {
			best, far = candidate, d
		}
	}
	return best
}

// distance is how many letters must be added, dropped, or changed to get from a to
// b; limit, when it is at least that.
func distance(a, b string, limit int) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal, least := row[0], i
		row[0] = i
		for j := 1; j <= len(b); j++ {
			d := diagonal
			if a[i-1] != b[j-1] {
				d = 1 + min(diagonal, row[j], row[j-1])
			}
			diagonal, row[j] = row[j], d
			least = min(least, d)
		}
		if least >= limit {
			return limit // it only grows from row to row
		}
	}
	return row[len(b)]
}
