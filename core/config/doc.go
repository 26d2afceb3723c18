// Package config is the table of settings: Kafka's names, and ours where Kafka
// has none.
//
// What is it? Two tables, broker and topic, of name, type, default, what may be
// written there, and where the value comes from when the name itself is not set.
//
// What goes in? Text: lines of a properties file, environment variables, values
// in requests, the overrides that the metadata log holds.
//
// What comes out? Normalised values, sentences that say what to write instead,
// and resolved settings with their source, as DescribeConfigs shows them.
//
// What always holds? A value that Check returned parses for ever after, and Check
// of it returns it unchanged. Every setting has a value or is null; nothing here
// fails at run time. A getter asked for a name that is in no table panics.
//
// What is it not? It reads no files and no environment, and it does not know what
// a setting does. It checks values where they come in, not where they are used: a
// simulator may hand over segments of a hundred bytes.
//
// # Where a topic's setting comes from
//
// The strongest first:
//
//	the topic's override            retention.ms
//	this broker, set at run time    log.retention.ms, then its synonyms
//	all brokers, set at run time    the same
//	file, environment, command line the same
//	default                         log.retention.hours = 168
//
// A stronger place of the same name wins over a weaker one; only when a name is
// set nowhere the next synonym is looked at (log.retention.ms, then
// log.retention.minutes, then log.retention.hours).
//
// # cleanup.policy=compact
//
// It is accepted, because every Streams, Connect and registry user creates such
// topics, and because it is safe: a compacted log must keep at least the last
// value of each key, and a log that is not compacted keeps all of them. Retention
// does not touch a topic whose policy lacks delete. Records without a key are
// refused there, as Kafka refuses them. Until the cleaner exists such a log only
// grows, and the setting's documentation says so.
package config
