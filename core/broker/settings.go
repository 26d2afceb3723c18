package broker

import (
	"strconv"

	"github.com/orrery-log/orrery/core/config"
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/log"
	"github.com/orrery-log/orrery/core/metadata"
)

// settings are what a topic's configuration says to the broker.
type settings struct {
	config.TopicConfig
}

// log is what it says to the topic's logs.
func (s *settings) log(expiry env.Time) log.Settings {
	l := log.Settings{
		SegmentBytes: s.SegmentBytes, SegmentAge: span(s.SegmentMs),
		RetentionBytes: s.RetentionBytes, RetentionTime: span(s.RetentionMs),
		Relaxed: s.Durability == config.Written, ProducerExpiry: expiry,
	}
	if !s.Delete {
		l.RetentionBytes, l.RetentionTime = -1, -1
	}
	return l
}

// span turns milliseconds into a span; a negative one, or one of centuries, is no limit.
func span(ms int64) env.Time {
	if ms < 0 || ms > int64(100*365*24*env.Hour/env.Millisecond) {
		return -1
	}
	return env.Time(ms) * env.Millisecond
}

// refusesTime tells whether a producer's timestamp lies too far from now (KIP-937).
func (s *settings) refusesTime(ms, now int64) bool {
	return ms >= 0 && (ms < now && now-ms > s.TimestampBeforeMs || ms > now && ms-now > s.TimestampAfterMs)
}

// recompresses tells whether a batch of this codec is not what the topic keeps.
func (s *settings) recompresses(codec env.Codec) bool { return s.Recompress && s.Codec != codec }

// layers are the places where broker settings are set.
func (b *Broker) layers() config.Layers {
	return config.Layers{
		Node:    b.image.ConfigsOf(metadata.BrokerResource, strconv.Itoa(int(b.cfg.NodeID))),
		Cluster: b.image.ConfigsOf(metadata.BrokerResource, ""),
		Static:  b.cfg.Properties,
	}
}

// settingsOf resolves a topic's settings.
func (b *Broker) settingsOf(overrides []env.Property) settings {
	return settings{b.layers().TopicConfigOf(overrides)}
}

// retentionEvery is the time between two checks of retention.
func (b *Broker) retentionEvery() env.Time {
	return max(span(b.layers().Long("log.retention.check.interval.ms")), env.Millisecond)
}
