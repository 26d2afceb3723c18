package node

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/orrery-log/orrery/core/config"
)

// parseProperties reads the format of java.util.Properties, in which Kafka's
// configuration files are written.
//
//   - A line whose first character that is not white space is # or ! is a comment.
//   - A line that ends in an odd number of backslashes goes on in the next one,
//     whose leading white space is skipped.
//   - The name ends at the first =, : or white space that is not escaped; one =
//     or : and the white space around it are skipped. White space at the end of a
//     value belongs to it.
//   - \t \n \r \f and \uXXXX mean what they mean in Java; a backslash before any
//     other character is dropped.
//
// Two things differ: bytes beyond ASCII are taken as UTF-8, and Java takes them for
// Latin-1; a lone backslash on the last line is nothing, and Java makes an empty
// setting of it.
func parseProperties(file, text string) ([]config.Given, error) {
	var all []config.Given
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line, at := strings.TrimLeft(lines[i], " \t\f"), i+1
		if line == "" || line[0] == '#' || line[0] == '!' || line == `\` {
			continue // a lone backslash continues nothing: the next line begins anew, as in Java
		}
		for continues(line) {
			line = line[:len(line)-1]
			if i++; i == len(lines) {
				break
			}
			line += strings.TrimLeft(lines[i], " \t\f")
		}
		name, value := split(line)
		g := config.Given{Where: fmt.Sprintf("%s line %d", file, at)}
		var err error
		if g.Name, err = unescape(name); err == nil {
			g.Value, err = unescape(value)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.Where, err)
		}
		all = append(all, g)
	}
	return all, nil
}

// continues tells whether a line ends in an odd number of backslashes.
func continues(line string) bool {
	n := len(line) - len(strings.TrimRight(line, `\`))
	return n%2 == 1
}

// split finds the end of the name. Both parts are still escaped.
func split(line string) (name, value string) {
	end := 0
	for end < len(line) && !strings.ContainsRune("=: \t\f", rune(line[end])) {
		if line[end] == '\\' {
			end++ // what it escapes is not the end
		}
		end++
	}
	end = min(end, len(line))
	name, value = line[:end], strings.TrimLeft(line[end:], " \t\f")
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], " \t\f")
	}
	return name, value
}

func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	var units []uint16 // of \u escapes in a row: two of them may be one character
	flush := func() {
		b.WriteString(string(utf16.Decode(units)))
		units = units[:0]
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			flush()
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			break // a lone backslash at the end of the file
		}
		if s[i] == 'u' {
			if len(s) < i+5 {
				return "", fmt.Errorf(`\u needs four hexadecimal digits, there is %q`, s[i-1:])
			}
			n, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
			if err != nil {
				return "", fmt.Errorf(`\u needs four hexadecimal digits, there is %q`, s[i-1:i+5])
			}
			units = append(units, uint16(n))
			i += 4
			continue
		}
		flush()
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		default:
			b.WriteByte(s[i])
		}
	}
	flush()
	return b.String(), nil
}
