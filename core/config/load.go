package config

import (
	"fmt"
	"sort"
	"strings"

	"github.com/orrery-log/orrery/core/env"
)

// Given is one setting as an operator wrote it.
type Given struct {
	Name, Value string
	Where       string // for people: "server.properties line 7"
}

// Loaded is a broker's start configuration.
type Loaded struct {
	Properties []env.Property // what was given, checked and normalised, by name
	Ignored    []string       // names that Kafka knows and that change nothing here, said once
	Problems   []string       // each stops the start and says what to write
}

// Load checks what was given for a broker's start. Given is in order of
// precedence, the weakest first: file, environment, command line.
func Load(given []Given) Loaded {
	var out Loaded
	last := make(map[string]int)
	for i, g := range given {
		last[g.Name] = i
	}
	for i, g := range given {
		if last[g.Name] != i {
			continue // a stronger one follows
		}
		switch s, ok := Lookup(Broker, g.Name); {
		case ok:
			if v, problem := s.Check(g.Value); problem != "" {
				out.Problems = append(out.Problems, g.Where+": "+problem)
			} else {
				out.Properties = append(out.Properties, env.Property{Name: g.Name, Value: v})
			}
		case g.Name == "authorizer.class.name" && strings.TrimSpace(g.Value) != "":
			out.Problems = append(out.Problems, g.Where+": this release has no access control, and would serve everybody; leave authorizer.class.name empty.")
		case Ignored(g.Name):
			out.Ignored = append(out.Ignored, g.Name)
		default:
			out.Problems = append(out.Problems, g.Where+": "+Unknown(Broker, g.Name))
		}
	}
	sort.Slice(out.Properties, func(i, j int) bool { return out.Properties[i].Name < out.Properties[j].Name })
	sort.Strings(out.Ignored)
	if len(out.Problems) == 0 {
		out.Problems = contradictions(Layers{Static: out.Properties})
	}
	return out
}

// contradictions are settings that are sound each and not together.
func contradictions(l Layers) []string {
	var problems []string
	node, okNode := Find(l.Static, "node.id")
	broker, okBroker := Find(l.Static, "broker.id")
	if okNode && okBroker && node != broker {
		problems = append(problems, fmt.Sprintf("node.id is %s and broker.id is %s: write only node.id.", node, broker))
	}
	problems = append(problems, listenerProblems(l)...)
	if lo, hi := l.Long("log.cleaner.min.compaction.lag.ms"), l.Long("log.cleaner.max.compaction.lag.ms"); lo > hi {
		problems = append(problems, fmt.Sprintf("log.cleaner.min.compaction.lag.ms (%d) is larger than log.cleaner.max.compaction.lag.ms (%d).", lo, hi))
	}
	return problems
}

// FromEnvironment gives the setting that an environment variable speaks of:
// ORRERY_LOG_DIRS is log.dirs, ORRERY_STORE_BYTES is orrery.store.bytes. Not ok:
// the variable is none of ours. An unknown name is returned as it would be spelt.
func FromEnvironment(variable string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(variable, "ORRERY_")
	if !ok || rest == "" {
		return "", false
	}
	name = strings.ReplaceAll(strings.ToLower(rest), "_", ".")
	if _, own := Lookup(Broker, "orrery."+name); own {
		return "orrery." + name, true
	}
	return name, true
}
