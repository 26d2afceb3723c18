package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/net"
)

func TestBadSettingsAreToldWhatToWrite(t *testing.T) {
	for _, c := range []struct{ file, environ, set, want string }{
		{set: "num.partitions", want: `--set "num.partitions": write NAME=VALUE, for example --set num.partitions=3`},
		{set: "num.partitions=many", want: `--set: Invalid value "many" for configuration num.partitions: write a whole number of at least 1 and at most 2147483647.`},
		{set: "num.partition=3", want: `--set: Unknown broker config name: num.partition. Did you mean num.partitions?`},
		{set: "retention.ms=3", want: `--set: Unknown broker config name: retention.ms. Did you mean log.retention.ms?`},
		{environ: "ORRERY_LISTENERS=localhost:9092", want: `environment variable ORRERY_LISTENERS: Invalid value "localhost:9092" for configuration listeners: write NAME://HOST:PORT, for example PLAINTEXT://localhost:9092.`},
		{environ: "ORRERY_LOGDIR=x", want: "environment variable ORRERY_LOGDIR: Unknown broker config name: logdir. Did you mean log.dir?"},
		{file: "log.dirs=/a,/b", want: `FILE line 1: Invalid value "/a,/b" for configuration log.dirs: write exactly one.`},
		{file: "\n\nauto.create.topics.enable=yes", want: `FILE line 3: Invalid value "yes" for configuration auto.create.topics.enable: write true or false.`},
		{file: "a=\\u1", want: `configuration: FILE line 1: \u needs four hexadecimal digits, there is "\\u1"`},
		{set: "listeners=SSL://localhost:9093", want: `listener SSL has security protocol "SSL" and this release serves only PLAINTEXT: name the listener PLAINTEXT, or map it in listener.security.protocol.map.`},
		{set: "listeners=A://h:1,A://h:2", want: ""}, // several lines, see below
		{set: "advertised.listeners=OTHER://h:1", want: `advertised.listeners names OTHER, which listeners does not: use the same names in both.`},
	} {
		file := "no file"
		if c.file != "" {
			file = filepath.Join(t.TempDir(), "server.properties")
			require.NoError(t, os.WriteFile(file, []byte(c.file), 0o600))
		}
		named := file
		if c.file == "" {
			named = ""
		}
		var sets, environ []string
		if c.set != "" {
			sets = []string{c.set}
		}
		if c.environ != "" {
			environ = []string{c.environ}
		}
		_, err := Load(named, environ, sets)
		require.Error(t, err, "%+v", c)
		if c.want != "" {
			require.Equal(t, c.want, strings.ReplaceAll(err.Error(), file, "FILE"))
		}
	}
	_, err := Load(filepath.Join(t.TempDir(), "absent"), nil, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestCommandLineBeatsEnvironmentBeatsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.properties")
	require.NoError(t, os.WriteFile(file, []byte("num.partitions=1\nnode.id=1\nlog.dirs=/file\nzookeeper.connect.ignored\\\n=x"), 0o600))
	_, err := Load(file, nil, nil)
	require.Error(t, err)
	require.NoError(t, os.WriteFile(file, []byte("num.partitions=1\nnode.id=1\nlog.dirs=/file\nnum.io.threads=8\nnum.io.threads=9"), 0o600))
	environ := []string{"ORRERY_NUM_PARTITIONS=2", "ORRERY_NODE_ID=2", "PATH=/bin", "NODE_ID=9"}
	s, err := Load(file, environ, []string{"num.partitions=3", "num.partitions=4"})
	require.NoError(t, err)
	require.EqualValues(t, 4, s.Long("num.partitions"))
	require.EqualValues(t, 2, s.Long("node.id"))
	require.Equal(t, "/file", s.DataDir())
	require.Equal(t, []string{"num.io.threads"}, s.Ignored)
}

func TestServiceLinksAreNoSettings(t *testing.T) {
	_, err := Load("", []string{
		"ORRERY_SERVICE_HOST=10.0.0.1", "ORRERY_SERVICE_PORT=9092", "ORRERY_SERVICE_PORT_KAFKA=9092",
		"ORRERY_PORT=tcp://10.0.0.1:9092", "ORRERY_PORT_9092_TCP=tcp://10.0.0.1:9092", "ORRERY_PORT_9092_TCP_ADDR=10.0.0.1",
	}, nil)
	require.NoError(t, err)
	_, err = Load("", []string{"ORRERY_PORTS=1"}, nil)
	require.Error(t, err)
}

func TestDefaultsListenOnLocalhostWithDataInTheWorkingDirectory(t *testing.T) {
	s, err := Load("", nil, nil)
	require.NoError(t, err)
	require.Equal(t, "./data", s.DataDir())
	require.Equal(t, []env.Endpoint{{Listener: "PLAINTEXT", Host: "localhost", Port: 9092}}, s.Listeners())
	o := s.netOptions()
	require.EqualValues(t, 1<<20, o.Limits.Frame)
	require.EqualValues(t, 100<<20, o.Limits.ProduceFrame)
	require.EqualValues(t, 64<<20, o.Limits.Decompressed)
	require.Equal(t, 10_000, o.MaxConns)
	require.Equal(t, net.DefaultOptions().LargeBytes, o.LargeBytes)
	require.Equal(t, net.DefaultOptions().SmallBytes, o.SmallBytes)
	require.Equal(t, net.DefaultOptions().MaxPipelined, o.MaxPipelined)
	require.Equal(t, 10*time.Minute, o.IdleAfter)
	require.Equal(t, 30*time.Second, o.StallAfter)
	require.Equal(t, env.DefaultLimits(), s.Limits(1<<40))
}

func TestClientsAreSentToWhereTheyCanConnect(t *testing.T) {
	at := func(name, host string, port int32) env.Endpoint {
		return env.Endpoint{Listener: name, Host: host, Port: port}
	}
	for _, c := range []struct{ bound, given, want []env.Endpoint }{
		{[]env.Endpoint{at("P", "localhost", 5)}, nil, []env.Endpoint{at("P", "localhost", 5)}},
		{[]env.Endpoint{at("P", "", 5)}, nil, []env.Endpoint{at("P", "me", 5)}},
		{[]env.Endpoint{at("P", "0.0.0.0", 5)}, nil, []env.Endpoint{at("P", "me", 5)}},
		{[]env.Endpoint{at("P", "::", 5)}, []env.Endpoint{at("P", "h", 0)}, []env.Endpoint{at("P", "h", 5)}},
		{[]env.Endpoint{at("P", "", 5), at("Q", "q", 6)}, []env.Endpoint{at("P", "h", 7)}, []env.Endpoint{at("P", "h", 7), at("Q", "q", 6)}},
	} {
		require.Equal(t, c.want, advertise(c.bound, c.given, "me"))
	}
}
