package config

import "testing"

func BenchmarkTopicConfigOf(b *testing.B) {
	l := Layers{Static: set("log.dirs", "/d", "log.retention.hours", "2", "listeners", "x", "node.id", "1")}
	overrides := set("cleanup.policy", "compact", "retention.ms", "5")
	b.ReportAllocs()
	for b.Loop() {
		l.TopicConfigOf(overrides)
	}
}
