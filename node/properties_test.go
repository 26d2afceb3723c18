package node

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPropertiesAreReadAsJavaReadsThem(t *testing.T) {
	for text, want := range map[string]string{
		"a=b":                              "a|b",
		"a = b":                            "a|b",
		"a:b":                              "a|b",
		"a b":                              "a|b",
		"a\tb = c":                         "a|b = c",
		"  a  :  b  ":                      "a|b  ",
		"a":                                "a|",
		"a=":                               "a|",
		"=b":                               "|b",
		"a==b":                             "a|=b",
		"a = = b":                          "a|= b",
		"# a=b\n  ! c=d\n\n \t\ne=f":       "e|f",
		"a=b#c":                            "a|b#c",
		"a=b\\\n   c\\\n\td":               "a|bcd",
		"a=b\\\\\nc=d":                     "a|b\\;c|d",
		"a=b\\\\\\\nc=d":                   "a|b\\c=d",
		"a=b\\\n# no comment":              "a|b# no comment",
		"a\\=b\\:c\\ d=e":                  "a=b:c d|e",
		"a=\\t\\n\\r\\f\\q\\\"":            "a|\t\n\r\fq\"",
		"a=\\u00e9\\u20AC":                 "a|é€",
		"a=\\ud83d\\ude00":                 "a|😀",
		"a=b\r\nc=d\re=f":                  "a|b;c|d;e|f",
		"a=1\na=2":                         "a|1;a|2",
		"listeners=PLAINTEXT\\://h\\:9092": "listeners|PLAINTEXT://h:9092",
		"listeners=PLAINTEXT://h:9092":     "listeners|PLAINTEXT://h:9092",
		"a=b\\":                            "a|b",
		"\\\n# comment\n\\\n\na=b":         "a|b",
		"":                                 "",
	} {
		got, err := parseProperties("f", text)
		require.NoError(t, err, "%q", text)
		var lines []string
		for _, g := range got {
			lines = append(lines, g.Name+"|"+g.Value)
		}
		require.Equal(t, want, strings.Join(lines, ";"), "%q", text)
	}
}

func TestBrokenEscapesAreNamedWithTheirLine(t *testing.T) {
	for text, want := range map[string]string{
		"a=b\n\nc=\\u12":     `f line 3: \u needs four hexadecimal digits, there is "\\u12"`,
		"a=\\u12zz":          `f line 1: \u needs four hexadecimal digits, there is "\\u12zz"`,
		"a=b\\\n c\n\\u = 1": `f line 3: \u needs four hexadecimal digits, there is "\\u"`,
	} {
		_, err := parseProperties("f", text)
		require.EqualError(t, err, want)
	}
}

// escape writes a name or value so that every reader of properties reads it back.
func escape(s string, name bool) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\f':
			b.WriteString(`\f`)
		case strings.ContainsRune(`\#!`, r), strings.ContainsRune("=: ", r) && (name || i == 0):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func TestPropertiesReadBackWhatWasWritten(t *testing.T) {
	text := rapid.StringOf(rapid.RuneFrom([]rune("ab=: \t\\#!\n\r\fé😀"), unicode.Letter))
	rapid.Check(t, func(t *rapid.T) {
		name, value := text.Draw(t, "name"), text.Draw(t, "value")
		line := escape(name, true) + rapid.SampledFrom([]string{"=", ":", " = ", "\t:"}).Draw(t, "between") + escape(value, false)
		if name == "" && value == "" {
			return
		}
		// A comment, an empty line, and a break within the line change nothing.
		got, err := parseProperties("f", "# x\n\n  "+line+"\n!y")
		require.NoError(t, err)
		require.Len(t, got, 1)
		require.Equal(t, name, got[0].Name)
		require.Equal(t, value, got[0].Value)
	})
}

func FuzzPropertiesNeverPanic(f *testing.F) {
	f.Add("a=b\\\n c\\u0041")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parseProperties("f", text)
		if err == nil {
			require.LessOrEqual(t, len(got), strings.Count(text, "\n")+strings.Count(text, "\r")+1)
		}
	})
}
