package config

import (
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orrery-log/orrery/core/env"
)

func TestTablesAreSortedAndTheirDefaultsAreSound(t *testing.T) {
	for _, scope := range []Scope{Broker, Topic} {
		table := Settings(scope)
		require.True(t, sort.SliceIsSorted(table, func(i, j int) bool { return table[i].Name < table[j].Name }))
		for i := range table {
			s := &table[i]
			require.NotEmpty(t, s.Doc, s.Name)
			require.False(t, scope == Broker && Ignored(s.Name), "%s is served and ignored", s.Name)
			if !s.Null {
				normal, problem := s.Check(s.Default)
				require.Empty(t, problem)
				require.Equal(t, s.Default, normal, s.Name)
			}
			for _, syn := range s.Synonyms {
				_, ok := Lookup(Broker, syn.Name)
				require.True(t, ok, "%s names %s", s.Name, syn.Name)
			}
		}
	}
	require.True(t, sort.StringsAreSorted(ignoredSettings))
}

func TestATopicsDefaultIsItsBrokersDefault(t *testing.T) {
	for i := range topicSettings {
		s := &topicSettings[i]
		if len(s.Synonyms) == 0 {
			continue
		}
		v, ok := Layers{}.Effective(s.Synonyms[0].Name)
		if !ok {
			require.Equal(t, "flush.ms", s.Name, "only flush.ms has a default that no broker setting has")
			continue
		}
		require.Equal(t, s.Default, v, s.Name)
	}
}

func TestACheckedValueStaysAsItIs(t *testing.T) {
	alphabet := rapid.StringOfN(rapid.RuneFrom([]rune("0123456789.-+,:*/ aepltrucmsdTRUE[]\tP")), 0, 12, -1)
	rapid.Check(t, func(t *rapid.T) {
		scope := rapid.SampledFrom([]Scope{Broker, Topic}).Draw(t, "scope")
		s := rapid.SampledFrom(Settings(scope)).Draw(t, "setting")
		value := rapid.OneOf(alphabet, rapid.String(), rapid.SampledFrom(append([]string{s.Default, "1", "0.50", " true "}, s.Rule.OneOf...))).Draw(t, "value")
		normal, problem := s.Check(value)
		if problem != "" {
			require.Empty(t, normal)
			require.Contains(t, problem, s.Name)
			return
		}
		again, problem := s.Check(normal)
		require.Empty(t, problem)
		require.Equal(t, normal, again)
	})
}

func TestValuesAreNormalisedOrRefusedWithAdvice(t *testing.T) {
	for _, c := range []struct{ name, value, normal, advice string }{
		{"retention.ms", " 77 ", "77", ""},
		{"retention.ms", "-1", "-1", ""},
		{"retention.ms", "-2", "", "at least -1"},
		{"retention.ms", "abc", "", "whole number"},
		{"retention.ms", "9223372036854775808", "", "whole number"},
		{"segment.bytes", "99999999999", "", "at most 2147483647"},
		{"segment.bytes", "100", "", "at least 1048576"},
		{"preallocate", "TRUE", "true", ""},
		{"preallocate", "yes", "", "true or false"},
		{"remote.storage.enable", "true", "", "write false"},
		{"cleanup.policy", "delete, compact", "delete,compact", ""},
		{"cleanup.policy", "", "", ""},
		{"cleanup.policy", "shred", "", "delete, compact"},
		{"cleanup.policy", "delete,delete", "", "once"},
		{"min.cleanable.dirty.ratio", ".5", "0.5", ""},
		{"min.cleanable.dirty.ratio", "1", "1.0", ""},
		{"min.cleanable.dirty.ratio", "1.5", "", "from 0.0 to 1.0"},
		{"compression.gzip.level", "0", "", "or -1"},
		{"compression.gzip.level", "-1", "-1", ""},
		{"compression.type", "brotli", "", "one of"},
		{"leader.replication.throttled.replicas", "*", "*", ""},
		{"leader.replication.throttled.replicas", "0:1,1:2", "0:1,1:2", ""},
		{"leader.replication.throttled.replicas", "zz", "", "PARTITION:BROKER"},
		{"durability", "written", "written", ""},
		{"durability", "maybe", "", "synced, written"},
	} {
		normal, problem := Check(Topic, c.name, c.value)
		require.Equal(t, c.normal, normal, "%s=%s", c.name, c.value)
		if c.advice == "" {
			require.Empty(t, problem)
		} else {
			require.Contains(t, problem, c.advice)
		}
	}
}

func TestAnUnknownNameIsAnsweredWithTheNearest(t *testing.T) {
	for _, c := range []struct {
		scope       Scope
		name, meant string
	}{
		{Topic, "retention.msec", "retention.ms"},
		{Topic, "log.retention.ms", "retention.ms"},
		{Topic, "cleanup.polcy", "cleanup.policy"},
		{Broker, "retention.ms", "log.retention.ms"},
		{Broker, "logs.dirs", "log.dirs"},
		{Broker, "num.partition", "num.partitions"},
	} {
		_, problem := Check(c.scope, c.name, "1")
		require.Contains(t, problem, "Did you mean "+c.meant+"?")
	}
	_, problem := Check(Topic, "foo.bar.nothing.like.it", "1")
	require.Equal(t, "Unknown topic config name: foo.bar.nothing.like.it", problem)
}

func set(pairs ...string) []env.Property {
	var out []env.Property
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, env.Property{Name: pairs[i], Value: pairs[i+1]})
	}
	return out
}

func TestTheStrongestPlaceWinsAndAllAreListed(t *testing.T) {
	retention := mustLookup(Topic, "retention.ms")

	r := Layers{}.Topic(nil, retention)
	require.Equal(t, Resolved{Value: "604800000", Source: FromDefault}, r)

	l := Layers{Static: set("log.retention.hours", "2")}
	r = l.Topic(nil, retention)
	require.Equal(t, "7200000", r.Value)
	require.Equal(t, FromStatic, r.Source)

	l.Cluster = set("log.retention.ms", "70")
	l.Node = set("log.retention.ms", "60")
	r = l.Topic(nil, retention)
	require.Equal(t, Resolved{Value: "60", Source: FromNode, Synonyms: []Value{
		{"log.retention.ms", "60", FromNode}, {"log.retention.ms", "70", FromCluster},
		{"log.retention.hours", "2", FromStatic}, {"log.retention.hours", "168", FromDefault}}}, r)

	r = l.Topic(set("retention.ms", "5"), retention)
	require.Equal(t, "5", r.Value)
	require.Equal(t, FromTopic, r.Source)
	require.Len(t, r.Synonyms, 5)
}

func TestABrokerSettingIsShownByItsOwnName(t *testing.T) {
	l := Layers{Static: set("log.retention.hours", "2")}
	ms := l.Broker(mustLookup(Broker, "log.retention.ms"))
	require.True(t, ms.Null)
	require.Equal(t, FromDefault, ms.Source)
	hours := l.Broker(mustLookup(Broker, "log.retention.hours"))
	require.Equal(t, "2", hours.Value)
	require.Equal(t, []Value{{"log.retention.hours", "2", FromStatic}, {"log.retention.hours", "168", FromDefault}}, hours.Synonyms)
	require.Equal(t, int64(7200000), l.Long("log.retention.ms"))
}

func TestNoLimitStaysNoLimitInEveryUnit(t *testing.T) {
	c := Layers{Static: set("log.retention.hours", "-1")}.TopicConfigOf(nil)
	require.Equal(t, int64(-1), c.RetentionMs)
}

func TestTopicConfigReadsEverySetting(t *testing.T) {
	c := Layers{Static: set("log.segment.bytes", "300")}.TopicConfigOf(set(
		"cleanup.policy", "compact", "compression.type", "zstd", "compression.zstd.level", "7",
		"durability", "written", "message.timestamp.type", "LogAppendTime", "min.insync.replicas", "2"))
	require.Equal(t, TopicConfig{Compact: true, RetentionMs: 604800000, RetentionBytes: -1, SegmentBytes: 300, SegmentMs: 604800000,
		MaxMessageBytes: 1048588, LogAppendTime: true, TimestampBeforeMs: maxLong, TimestampAfterMs: 3600000,
		Recompress: true, Codec: env.Zstd, Level: 7, MinInsyncReplicas: 2, Durability: Written}, c)
}

func TestTheDefaultLimitsAreThoseOfTheBorder(t *testing.T) {
	require.Equal(t, env.DefaultLimits(), Layers{}.Limits(1<<50))
	require.Equal(t, int64(50), Layers{}.Limits(1000).Reserve)
}

func TestLoadTakesTheLastAndTellsAllProblems(t *testing.T) {
	got := Load([]Given{
		{"log.retention.ms", "abc", "file line 1"}, {"log.retention.ms", "5", "--set"},
		{"num.io.threads", "8", "file line 2"}, {"listener.name.internal.ssl.keystore.location", "x", "file line 3"},
		{"node.id", "3", "file line 4"},
	})
	require.Empty(t, got.Problems)
	require.Equal(t, set("log.retention.ms", "5", "node.id", "3"), got.Properties)
	require.Equal(t, []string{"listener.name.internal.ssl.keystore.location", "num.io.threads"}, got.Ignored)

	for _, c := range []struct{ name, value, problem string }{
		{"log.dirs", "/a,/b", "exactly one"},
		{"node.id", "x", "file: Invalid value"},
		{"nod.id", "1", "Did you mean node.id?"},
		{"listeners", "SSL://localhost:9093", "serves only PLAINTEXT"},
		{"listeners", "localhost:9092", "NAME://HOST:PORT"},
		{"listeners", "", "names no listener"},
		{"advertised.listeners", "OTHER://h:1", "which listeners does not"},
		{"advertised.listeners", "PLAINTEXT://:9092", "no address"},
		{"authorizer.class.name", "kafka.Authorizer", "no access control"},
	} {
		got := Load([]Given{{c.name, c.value, "file"}})
		require.Len(t, got.Problems, 1, c.name)
		require.Contains(t, got.Problems[0], c.problem)
	}
}

func TestKafkasOwnSampleConfigurationStarts(t *testing.T) {
	var given []Given
	for line := range strings.Lines(`process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
`) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		given = append(given, Given{name, value, name})
	}
	got := Load(given)
	require.Empty(t, got.Problems)
	l := Layers{Static: got.Properties}
	require.Equal(t, []env.Endpoint{{Listener: "PLAINTEXT", Port: 9092}}, l.Listeners())
	require.Equal(t, []env.Endpoint{{Listener: "PLAINTEXT", Host: "localhost", Port: 9092}}, l.Advertised())
	require.Equal(t, "/tmp/kraft-combined-logs", l.Text("log.dirs"))
}

func TestListenersParse(t *testing.T) {
	for _, c := range []struct {
		text string
		want env.Endpoint
		ok   bool
	}{
		{"PLAINTEXT://localhost:9092", env.Endpoint{Listener: "PLAINTEXT", Host: "localhost", Port: 9092}, true},
		{"internal://[::1]:1", env.Endpoint{Listener: "INTERNAL", Host: "::1", Port: 1}, true},
		{"A://:0", env.Endpoint{Listener: "A"}, true},
		{"A://h", env.Endpoint{}, false},
		{"A://h:65536", env.Endpoint{}, false},
		{"://h:1", env.Endpoint{}, false},
		{"A://::1:1", env.Endpoint{}, false},
	} {
		got, ok := ParseListener(c.text)
		require.Equal(t, c.ok, ok, c.text)
		if ok {
			require.Equal(t, c.want, got)
		}
	}
}

func TestEnvironmentVariablesNameSettings(t *testing.T) {
	for variable, want := range map[string]string{
		"ORRERY_LOG_DIRS": "log.dirs", "ORRERY_STORE_BYTES": "orrery.store.bytes", "ORRERY_NO_SUCH": "no.such",
	} {
		name, ok := FromEnvironment(variable)
		require.True(t, ok)
		require.Equal(t, want, name)
	}
	_, ok := FromEnvironment("HOME")
	require.False(t, ok)
}

func TestWhatCountsIsWhatIsShown(t *testing.T) {
	names := rapid.SampledFrom([]string{"log.retention.ms", "log.retention.minutes", "log.retention.hours", "log.segment.bytes", "log.roll.hours"})
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) []env.Property {
			var out []env.Property
			for _, name := range rapid.SliceOfNDistinct(names, 0, 3, rapid.ID[string]).Draw(t, label) {
				out = append(out, env.Property{Name: name, Value: formatLong(rapid.Int64Range(-1, 1<<40).Draw(t, "value"))})
			}
			return out
		}
		l := Layers{Node: draw("node"), Cluster: draw("cluster"), Static: draw("static")}
		for i := range topicSettings {
			s := &topicSettings[i]
			shown := l.Topic(nil, s)
			require.Equal(t, shown.Value, l.topicValue(nil, s), s.Name)
			if shown.Source != FromDefault {
				v, _ := l.Effective(s.Synonyms[0].Name)
				require.Equal(t, shown.Value, v, s.Name)
				require.Equal(t, shown.Source, shown.Synonyms[0].Source)
			}
		}
	})
}
