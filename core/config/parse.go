package config

import (
	"strconv"
	"strings"

	"github.com/orrery-log/orrery/core/env"
)

// SplitList cuts a list as Kafka writes it: elements separated by commas, blanks
// around them do not count. An empty text is an empty list.
func SplitList(v string) []string {
	if v == "" {
		return nil
	}
	elements := strings.Split(v, ",")
	for i, e := range elements {
		elements[i] = strings.Trim(e, " \t\r\n\f")
	}
	return elements
}

func parseLong(v string) (int64, bool) {
	n, err := strconv.ParseInt(v, 10, 64)
	return n, err == nil
}

func formatLong(n int64) string { return strconv.FormatInt(n, 10) }

// million is the fixed point of a Double.
const million = 1_000_000

// parseMillionths reads a decimal fraction of at most six places.
func parseMillionths(v string) (int64, bool) {
	sign := int64(1)
	if rest, ok := strings.CutPrefix(v, "-"); ok {
		sign, v = -1, rest
	}
	whole, fraction, _ := strings.Cut(v, ".")
	if whole == "" && fraction == "" || len(whole) > 12 {
		return 0, false
	}
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > 6 || !digits(whole) || !digits(fraction) {
		return 0, false
	}
	n := int64(0)
	for _, c := range whole + fraction + "000000"[len(fraction):] {
		n = n*10 + int64(c-'0')
	}
	return sign * n, true
}

func digits(v string) bool {
	for _, c := range v {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// formatMillionths writes a fraction as Java writes a double: at least one place.
func formatMillionths(n int64) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	fraction := strconv.FormatInt(million+n%million, 10)[1:]
	fraction = strings.TrimRight(fraction, "0")
	if fraction == "" {
		fraction = "0"
	}
	return sign + strconv.FormatInt(n/million, 10) + "." + fraction
}

// ParseListener reads one NAME://HOST:PORT. An empty host means every interface;
// an IPv6 host stands in brackets.
func ParseListener(v string) (env.Endpoint, bool) {
	name, rest, ok := strings.Cut(v, "://")
	if !ok || name == "" || strings.ContainsAny(name, " \t,:/") {
		return env.Endpoint{}, false
	}
	host, port, ok := splitHostPort(rest)
	return env.Endpoint{Listener: strings.ToUpper(name), Host: host, Port: port}, ok
}

func splitHostPort(v string) (host string, port int32, ok bool) {
	colon := strings.LastIndexByte(v, ':')
	if colon < 0 {
		return "", 0, false
	}
	host = v[:colon]
	n, ok := parseLong(v[colon+1:])
	if !ok || n < 0 || n > 65535 || strings.ContainsAny(host, " \t/,") {
		return "", 0, false
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	} else if strings.Contains(host, ":") {
		return "", 0, false
	}
	return host, int32(n), true
}
