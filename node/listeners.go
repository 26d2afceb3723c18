package node

import (
	"fmt"
	gonet "net"
	"strconv"
	"strings"
)

// listener is one entry of listeners or advertised.listeners, as NAME://HOST:PORT.
type listener struct {
	name string
	host string // empty: all interfaces
	port int32
}

func (l listener) address() string { return gonet.JoinHostPort(l.host, strconv.Itoa(int(l.port))) }

// parseListeners reads a list as Kafka writes it: NAME://HOST:PORT, separated by
// commas. An IPv6 host stands in brackets. Names are unique.
func parseListeners(setting, value string) ([]listener, error) {
	var all []listener
	for _, part := range strings.Split(value, ",") {
		part = strings.TrimSpace(part)
		l, err := parseListener(part)
		if err != nil {
			return nil, fmt.Errorf("%s: %q %w; write NAME://HOST:PORT, for example PLAINTEXT://localhost:9092", setting, part, err)
		}
		for _, other := range all {
			if other.name == l.name {
				return nil, fmt.Errorf("%s: the listener name %s stands there twice; give each listener a name of its own", setting, l.name)
			}
			if setting == "listeners" && other.port == l.port && l.port != 0 && other.host == l.host {
				return nil, fmt.Errorf("%s: the port %d stands there twice; give each listener a port of its own", setting, l.port)
			}
		}
		all = append(all, l)
	}
	return all, nil
}

func parseListener(s string) (listener, error) {
	name, address, ok := strings.Cut(s, "://")
	if !ok || name == "" {
		return listener{}, fmt.Errorf("is no listener")
	}
	host, text, err := gonet.SplitHostPort(address)
	if err != nil {
		return listener{}, fmt.Errorf("has no HOST:PORT")
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return listener{}, fmt.Errorf("has the port %q, which is not in 0 to 65535", text)
	}
	return listener{name: strings.ToUpper(name), host: host, port: int32(port)}, nil
}

// advertise says where clients are told to go. Where advertised.listeners is
// silent that is where we listen; port 0 stands for the bound port in both, and
// an address of all interfaces for this machine's name.
func advertise(bound, advertised []listener, hostname string) ([]listener, error) {
	if len(advertised) == 0 {
		advertised = bound
	}
	all := make([]listener, 0, len(advertised))
	for _, a := range advertised {
		var at *listener
		for i := range bound {
			if bound[i].name == a.name {
				at = &bound[i]
			}
		}
		if at == nil {
			return nil, fmt.Errorf("advertised.listeners: %s is not in listeners; use a name that is there", a.name)
		}
		if a.port == 0 {
			a.port = at.port
		}
		switch a.host {
		case "":
			a.host = hostname
		case "0.0.0.0", "::":
			return nil, fmt.Errorf("advertised.listeners: clients can not connect to %s; write the name or address by which they reach this machine", a.host)
		}
		all = append(all, a)
	}
	return all, nil
}
