package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var golden = flag.Bool("golden", false, "rewrite settings.md")

const document = "settings.md"

// The document of the settings is made of the tables; -golden writes it.
func TestTheDocumentOfTheSettingsIsCurrent(t *testing.T) {
	text := documented()
	if *golden {
		require.NoError(t, os.WriteFile(document, []byte(text), 0o644))
		return
	}
	got, err := os.ReadFile(document)
	require.NoError(t, err)
	require.Equal(t, text, string(got), "run go test ./core/config -golden and read the difference")
}

func documented() string {
	var b strings.Builder
	b.WriteString(`# Settings

Names, types and defaults are Kafka's where Kafka has them; ours begin with ` + "`orrery.`" + ` (and the topic's ` + "`durability`" + `).
A broker reads them from a properties file (` + "`--config`" + `), from the environment (` + "`ORRERY_LOG_DIRS`" + ` is ` + "`log.dirs`" + `,
` + "`ORRERY_STORE_BYTES`" + ` is ` + "`orrery.store.bytes`" + `) and from ` + "`--set NAME=VALUE`" + `; the last of these wins. Names that Kafka 4.3 knows
and that change nothing here are said once and ignored. Any other name, and any bad value, stops the start.

## Broker

*dynamic*: can also be set while brokers live, for one (` + "`--entity-name 1`" + `) or for all (` + "`--entity-default`" + `).

`)
	table(&b, Broker)
	b.WriteString("\n## Topic\n\nA topic that does not set one takes the broker's.\n\n")
	table(&b, Topic)
	return b.String()
}

func table(b *strings.Builder, scope Scope) {
	b.WriteString("| name | type | default | | meaning |\n|---|---|---|---|---|\n")
	for i := range Settings(scope) {
		s := &Settings(scope)[i]
		value, note := "`"+s.Default+"`", ""
		switch {
		case s.Null:
			value = "not set"
		case s.Default == "":
			value = "empty"
		}
		if scope == Broker && s.Update == Dynamic {
			note = "dynamic"
		}
		if scope == Topic && len(s.Synonyms) > 0 {
			note = "`" + s.Synonyms[0].Name + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", s.Name, typeName(s.Type), value, note, s.Doc)
	}
}

func typeName(t Type) string {
	return map[Type]string{Boolean: "boolean", String: "string", Int: "int", Short: "short", Long: "long", Double: "double", List: "list"}[t]
}
