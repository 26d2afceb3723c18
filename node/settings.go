package node

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/config"
	"github.com/orrery-log/orrery/core/door"
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/net"
)

// Settings are a broker's checked settings.
type Settings struct {
	config.Layers
	// Ignored are names that Kafka knows and that change nothing here.
	Ignored []string
}

// Load reads settings: the file (none when its name is empty), then variables as
// in os.Environ, then NAME=VALUE texts of the command line; later ones win. The
// error has a line for each problem, and each says what to write instead.
func Load(file string, environ, sets []string) (Settings, error) {
	var given []config.Given
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return Settings{}, fmt.Errorf("configuration: %w", err)
		}
		if given, err = parseProperties(file, string(text)); err != nil {
			return Settings{}, fmt.Errorf("configuration: %w", err)
		}
	}
	given = append(given, fromEnvironment(environ)...)
	for _, set := range sets {
		name, value, ok := strings.Cut(set, "=")
		if !ok || name == "" {
			return Settings{}, fmt.Errorf("--set %q: write NAME=VALUE, for example --set num.partitions=3", set)
		}
		given = append(given, config.Given{Name: strings.TrimSpace(name), Value: value, Where: "--set"})
	}
	loaded := config.Load(given)
	if len(loaded.Problems) > 0 {
		return Settings{}, errors.New(strings.Join(loaded.Problems, "\n"))
	}
	return Settings{config.Layers{Static: loaded.Properties}, loaded.Ignored}, nil
}

// serviceLink matches what Kubernetes and Docker put into the environment of every
// process beside a service that is called orrery. It is no setting.
var serviceLink = regexp.MustCompile(`^ORRERY_(SERVICE_(HOST|PORT(_.*)?)|PORT(_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)?)$`)

func fromEnvironment(environ []string) []config.Given {
	var given []config.Given
	for _, variable := range environ {
		key, value, _ := strings.Cut(variable, "=")
		if name, ok := config.FromEnvironment(key); ok && !serviceLink.MatchString(key) {
			given = append(given, config.Given{Name: name, Value: value, Where: "environment variable " + key})
		}
	}
	return given
}

// DataDir is the data directory.
func (s Settings) DataDir() string { return s.Text("log.dirs") }

func (s Settings) millis(name string) time.Duration {
	return time.Duration(min(s.Long(name), int64(century/time.Millisecond))) * time.Millisecond
}

// century is longer than anybody waits, and overflows in no sum.
const century = 100 * 365 * 24 * time.Hour

// netOptions lack the clock, the sink and the log.
func (s Settings) netOptions() net.Options {
	o := net.DefaultOptions()
	o.Limits = door.Limits{
		Frame:        int32(s.Long("orrery.frame.max.bytes")),
		ProduceFrame: int32(s.Long("socket.request.max.bytes")),
		Decompressed: s.Long("orrery.decompressed.max.bytes"),
	}
	o.LargeBytes = s.Long("orrery.frames.max.bytes")
	o.SmallBytes = o.LargeBytes / 2
	o.MaxPipelined = int(s.Long("orrery.pipelined.max"))
	o.MaxConns = int(s.Long("max.connections"))
	o.IdleAfter = s.millis("connections.max.idle.ms")
	if o.IdleAfter < 0 {
		o.IdleAfter = century
	}
	o.StallAfter = s.millis("orrery.slow.reader.ms")
	o.Polls = func(key int16) bool { return kmsg.Key(key) == kmsg.Fetch }
	return o
}

// brokerConfig lacks what a start adds: who it is, where it is bound.
func (s Settings) brokerConfig(diskBytes int64) env.Config {
	return env.Config{
		NodeID:     int32(s.Long("node.id")),
		Rack:       s.Text("broker.rack"),
		Disk:       diskBytes,
		Properties: s.Static,
		Limits:     s.Limits(diskBytes),
	}
}

// advertise says where clients are told to go: where advertised.listeners says,
// and where it is silent, where we are bound. Port 0 is the bound port; a bound
// address of all interfaces is this machine's name.
func advertise(bound, given []env.Endpoint, hostname string) []env.Endpoint {
	all := make([]env.Endpoint, 0, len(bound))
	for _, b := range bound {
		at := b
		for _, g := range given {
			if g.Listener == b.Listener {
				at = g
			}
		}
		if at.Port == 0 {
			at.Port = b.Port
		}
		if at.Host == "" || at.Host == "0.0.0.0" || at.Host == "::" {
			at.Host = hostname
		}
		all = append(all, at)
	}
	return all
}
