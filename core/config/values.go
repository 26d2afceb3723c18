package config

import (
	"fmt"

	"github.com/orrery-log/orrery/core/env"
)

// Long is a broker setting that is a number; 0 when it is null.
func (l Layers) Long(name string) int64 {
	v, ok := l.Effective(name)
	if !ok {
		return 0
	}
	return mustLong(v)
}

// Bool is a broker setting that is true or false.
func (l Layers) Bool(name string) bool {
	v, _ := l.Effective(name)
	return v == "true"
}

// Text is a broker setting as it is written; "" when it is null.
func (l Layers) Text(name string) string {
	v, _ := l.Effective(name)
	return v
}

// Durability is what an acks=all answer promises.
type Durability uint8

// Durabilities. Synced survives the loss of power, Written the death of the process.
const (
	Synced Durability = iota
	Written
)

// TopicConfig is a topic's settings as the rest of the core reads them.
type TopicConfig struct {
	Delete            bool       // retention drops segments
	Compact           bool       // records without a key are refused
	RetentionMs       int64      // -1: for ever
	RetentionBytes    int64      // -1: no limit
	SegmentBytes      int64      // a segment this large is sealed
	SegmentMs         int64      // a segment this old is sealed
	MaxMessageBytes   int64      // the largest batch
	LogAppendTime     bool       // the broker's clock stamps records
	TimestampBeforeMs int64      // how far CreateTime may lie before now
	TimestampAfterMs  int64      // how far CreateTime may lie after now
	Recompress        bool       // batches of another codec are recompressed to Codec
	Codec             env.Codec  // meaningful with Recompress
	Level             int32      // of Codec; meaningful for gzip, lz4 and zstd
	MinInsyncReplicas int32      // acks=all needs so many
	Durability        Durability // what acks=all promises
}

// TopicConfigOf reads a topic's settings from its overrides and the broker's layers.
func (l Layers) TopicConfigOf(overrides []env.Property) TopicConfig {
	text := func(name string) string { return l.topicValue(overrides, mustLookup(Topic, name)) }
	long := func(name string) int64 { return mustLong(text(name)) }
	policy := SplitList(text("cleanup.policy"))
	c := TopicConfig{
		Delete:            contains(policy, "delete"),
		Compact:           contains(policy, "compact"),
		RetentionMs:       long("retention.ms"),
		RetentionBytes:    long("retention.bytes"),
		SegmentBytes:      long("segment.bytes"),
		SegmentMs:         long("segment.ms"),
		MaxMessageBytes:   long("max.message.bytes"),
		LogAppendTime:     text("message.timestamp.type") == "LogAppendTime",
		TimestampBeforeMs: long("message.timestamp.before.max.ms"),
		TimestampAfterMs:  long("message.timestamp.after.max.ms"),
		MinInsyncReplicas: int32(long("min.insync.replicas")),
	}
	if text("durability") == "written" {
		c.Durability = Written
	}
	if codec := text("compression.type"); codec != "producer" {
		c.Recompress, c.Codec = true, codecOf(codec)
		switch c.Codec {
		case env.Gzip, env.LZ4, env.Zstd:
			c.Level = int32(long("compression." + codec + ".level"))
		}
	}
	return c
}

func codecOf(name string) env.Codec {
	switch name {
	case "uncompressed":
		return env.None
	case "gzip":
		return env.Gzip
	case "snappy":
		return env.Snappy
	case "lz4":
		return env.LZ4
	case "zstd":
		return env.Zstd
	default:
		panic(fmt.Sprintf("config: compression.type %q was not checked", name))
	}
}

// Limits are the broker's limits from its settings. Disk is the size of the data
// directory's file system in bytes; it bounds the default reserve.
func (l Layers) Limits(disk int64) env.Limits {
	limits := env.DefaultLimits()
	limits.Unwritten = l.Long("orrery.unwritten.max.bytes")
	limits.Tails = l.Long("orrery.tails.max.bytes")
	limits.Journal = l.Long("orrery.journal.max.bytes")
	limits.Reads = l.Long("orrery.reads.max.bytes")
	limits.Replies = l.Long("orrery.replies.max.bytes")
	limits.Reserve = l.Long("orrery.reserve.bytes")
	if limits.Reserve < 0 {
		limits.Reserve = min(256*mib, disk/20)
	}
	limits.IndexCache = l.Long("orrery.index.cache.bytes")
	limits.ConnShare = int32(l.Long("orrery.connection.share.percent"))
	limits.StoreBytes = l.Long("orrery.store.bytes")
	limits.StoreAge = millis(l.Long("orrery.store.ms"))
	limits.IndexEvery = int32(l.Long("orrery.index.interval.bytes"))
	limits.CheckEvery = l.Long("orrery.checkpoint.interval.bytes")
	limits.ReplayBytes = l.Long("orrery.metadata.piece.bytes")
	limits.CarryMax = l.Long("orrery.carry.max.bytes")
	limits.FetchMax = int32(l.Long("fetch.max.bytes"))
	limits.Sessions = int32(l.Long("max.incremental.fetch.session.cache.slots"))
	return limits
}

// millis turns milliseconds into a span of time, without overflow.
func millis(ms int64) env.Time {
	if ms > maxLong/int64(env.Millisecond) {
		return maxLong
	}
	return env.Time(ms) * env.Millisecond
}
