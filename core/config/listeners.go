package config

import (
	"fmt"
	"strings"

	"github.com/orrery-log/orrery/core/env"
)

// Listeners are the listeners that this broker opens. Those that
// controller.listener.names names are left out: there is no separate controller.
func (l Layers) Listeners() []env.Endpoint { return l.clients(l.Text("listeners")) }

// Advertised are the endpoints that clients are told, when they were given. A
// listener without one is advertised as it is bound; port 0 is the bound port.
func (l Layers) Advertised() []env.Endpoint { return l.clients(l.Text("advertised.listeners")) }

func (l Layers) clients(list string) []env.Endpoint {
	controllers := SplitList(l.Text("controller.listener.names"))
	var endpoints []env.Endpoint
	for _, e := range SplitList(list) {
		if p, ok := ParseListener(e); ok && !containsFold(controllers, p.Listener) {
			endpoints = append(endpoints, p)
		}
	}
	return endpoints
}

func listenerProblems(l Layers) []string {
	var problems []string
	open := l.Listeners()
	if len(open) == 0 {
		problems = append(problems, "listeners names no listener for clients: write for example PLAINTEXT://localhost:9092.")
	}
	for i, e := range open {
		if p := l.protocol(e.Listener); p != "PLAINTEXT" {
			problems = append(problems, fmt.Sprintf("listener %s has security protocol %q and this release serves only PLAINTEXT: name the listener PLAINTEXT, or map it in listener.security.protocol.map.", e.Listener, p))
		}
		for _, other := range open[:i] {
			if other.Listener == e.Listener {
				problems = append(problems, fmt.Sprintf("listeners names %s twice: give each its own name.", e.Listener))
			}
			if other.Port == e.Port && other.Host == e.Host && e.Port != 0 {
				problems = append(problems, fmt.Sprintf("listeners %s and %s have the same address: give each its own port.", other.Listener, e.Listener))
			}
		}
	}
	for _, a := range l.Advertised() {
		switch {
		case !named(open, a.Listener):
			problems = append(problems, fmt.Sprintf("advertised.listeners names %s, which listeners does not: use the same names in both.", a.Listener))
		case a.Host == "" || a.Host == "0.0.0.0" || a.Host == "::":
			problems = append(problems, fmt.Sprintf("advertised.listeners gives %s no address that a client could reach: write a host name.", a.Listener))
		}
	}
	return problems
}

// protocol is the security protocol of a listener; "" when the map lacks it.
func (l Layers) protocol(listener string) string {
	for _, e := range SplitList(l.Text("listener.security.protocol.map")) {
		if name, protocol, _ := strings.Cut(e, ":"); strings.EqualFold(name, listener) {
			return strings.ToUpper(protocol)
		}
	}
	return ""
}

func named(endpoints []env.Endpoint, listener string) bool {
	for _, e := range endpoints {
		if e.Listener == listener {
			return true
		}
	}
	return false
}

func containsFold(words []string, w string) bool {
	for _, x := range words {
		if strings.EqualFold(x, w) {
			return true
		}
	}
	return false
}
