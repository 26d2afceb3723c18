package config

// topicSettings are all topic settings, by name. It is never written.
var topicSettings = []Setting{
	{Name: "cleanup.policy", Type: List, Default: "delete", Rule: oneOf("delete", "compact"), Synonyms: same("log.cleanup.policy"),
		Doc: "What happens to old records. delete: whole segments go when retention.ms or retention.bytes says so. compact: records without a key are refused and retention touches nothing; this release keeps every record of such a topic. Both may be given; empty keeps all."},
	{Name: "compression.gzip.level", Type: Int, Default: "-1", Rule: between(1, 9).also(-1), Synonyms: same("compression.gzip.level"),
		Doc: "The level used when compression.type is gzip; -1 leaves it to the codec."},
	{Name: "compression.lz4.level", Type: Int, Default: "9", Rule: between(1, 17), Synonyms: same("compression.lz4.level"),
		Doc: "The level used when compression.type is lz4."},
	{Name: "compression.type", Type: String, Default: "producer", Rule: compressionTypes, Synonyms: same("compression.type"),
		Doc: "The codec in which batches are stored. producer keeps what the producer chose; any other recompresses batches that differ."},
	{Name: "compression.zstd.level", Type: Int, Default: "3", Rule: between(-131072, 22), Synonyms: same("compression.zstd.level"),
		Doc: "The level used when compression.type is zstd."},
	{Name: "delete.retention.ms", Type: Long, Default: "86400000", Rule: atLeast(0), Synonyms: same("log.cleaner.delete.retention.ms"),
		Doc: "How long a deletion mark of a compacted topic is kept, once there is a cleaner."},
	{Name: "durability", Type: String, Default: "synced", Rule: oneOf("synced", "written"), Synonyms: same("orrery.durability"),
		Doc: "What an acks=all answer promises. synced: the record is on the medium and survives loss of power. written: it is in the operating system's hands and survives the death of the process, as Kafka's own default."},
	{Name: "file.delete.delay.ms", Type: Long, Default: "60000", Rule: atLeast(0), Synonyms: same("log.segment.delete.delay.ms"),
		Doc: "Accepted for Kafka's tools. A segment goes as soon as nothing reads it."},
	{Name: "flush.messages", Type: Long, Default: maxLongText, Rule: atLeast(1), Synonyms: same("log.flush.interval.messages"),
		Doc: "Accepted for Kafka's tools. durability decides what is synced before an answer."},
	{Name: "flush.ms", Type: Long, Default: maxLongText, Rule: atLeast(0), Synonyms: same("log.flush.interval.ms"),
		Doc: "Accepted for Kafka's tools. durability decides what is synced before an answer."},
	{Name: "follower.replication.throttled.replicas", Type: List, Default: "", Rule: formed(throttled),
		Doc: "Replicas whose copying is slowed down at the follower; replicas are not throttled in this release."},
	{Name: "index.interval.bytes", Type: Int, Default: "4096", Rule: atLeast(0), Synonyms: same("log.index.interval.bytes"),
		Doc: "Accepted for Kafka's tools. The distance of index entries is orrery.index.interval.bytes."},
	{Name: "leader.replication.throttled.replicas", Type: List, Default: "", Rule: formed(throttled),
		Doc: "Replicas whose copying is slowed down at the leader; replicas are not throttled in this release."},
	{Name: "local.retention.bytes", Type: Long, Default: "-2", Rule: atLeast(-2), Synonyms: same("log.local.retention.bytes"),
		Doc: "What stays local of a tiered topic; there is no tiered storage in this release."},
	{Name: "local.retention.ms", Type: Long, Default: "-2", Rule: atLeast(-2), Synonyms: same("log.local.retention.ms"),
		Doc: "How long a tiered topic stays local; there is no tiered storage in this release."},
	{Name: "max.compaction.lag.ms", Type: Long, Default: maxLongText, Rule: atLeast(1), Synonyms: same("log.cleaner.max.compaction.lag.ms"),
		Doc: "After this time a record of a compacted topic must be looked at by the cleaner, once there is one."},
	{Name: "max.message.bytes", Type: Int, Default: "1048588", Rule: atLeast(0), Synonyms: same("message.max.bytes"),
		Doc: "The largest record batch that is accepted, as it comes, compressed or not."},
	{Name: "message.timestamp.after.max.ms", Type: Long, Default: "3600000", Rule: atLeast(0), Synonyms: same("log.message.timestamp.after.max.ms"),
		Doc: "How far a CreateTime may lie after the broker's clock."},
	{Name: "message.timestamp.before.max.ms", Type: Long, Default: maxLongText, Rule: atLeast(0), Synonyms: same("log.message.timestamp.before.max.ms"),
		Doc: "How far a CreateTime may lie before the broker's clock."},
	{Name: "message.timestamp.type", Type: String, Default: "CreateTime", Rule: oneOf("CreateTime", "LogAppendTime"), Synonyms: same("log.message.timestamp.type"),
		Doc: "Whose clock stamps records: the producer's (CreateTime) or the broker's (LogAppendTime)."},
	{Name: "min.cleanable.dirty.ratio", Type: Double, Default: "0.5", Rule: between(0, million), Synonyms: same("log.cleaner.min.cleanable.ratio"),
		Doc: "The share of a compacted log that must be new before the cleaner looks at it, once there is one."},
	{Name: "min.compaction.lag.ms", Type: Long, Default: "0", Rule: atLeast(0), Synonyms: same("log.cleaner.min.compaction.lag.ms"),
		Doc: "For this time a record of a compacted topic is left alone by the cleaner, once there is one."},
	{Name: "min.insync.replicas", Type: Int, Default: "1", Rule: atLeast(1), Synonyms: same("min.insync.replicas"),
		Doc: "How many replicas must be in sync for acks=all to be accepted."},
	{Name: "preallocate", Type: Boolean, Default: "false", Synonyms: same("log.preallocate"),
		Doc: "Accepted for Kafka's tools. Segment files are not preallocated."},
	{Name: "remote.log.copy.disable", Type: Boolean, Default: "false",
		Doc: "Stops the copying of a tiered topic; there is no tiered storage in this release."},
	{Name: "remote.log.delete.on.disable", Type: Boolean, Default: "false",
		Doc: "Deletes the remote part of a topic that is no longer tiered; there is no tiered storage in this release."},
	{Name: "remote.storage.enable", Type: Boolean, Default: "false", Rule: oneOf("false"),
		Doc: "Tiered storage. This release has none, so only false is accepted."},
	{Name: "retention.bytes", Type: Long, Default: "-1", Rule: atLeast(-1), Synonyms: same("log.retention.bytes"),
		Doc: "The size to which a partition is cut by dropping its oldest segments; -1 does not limit it."},
	{Name: "retention.ms", Type: Long, Default: "604800000", Rule: atLeast(-1), Synonyms: retentionSynonyms,
		Doc: "How long records are kept, measured by the largest timestamp of their segment; -1 keeps them for ever."},
	{Name: "segment.bytes", Type: Int, Default: "1073741824", Rule: atLeast(mib), Synonyms: same("log.segment.bytes"),
		Doc: "The size at which a new segment is begun. Retention drops whole segments."},
	{Name: "segment.index.bytes", Type: Int, Default: "10485760", Rule: atLeast(4), Synonyms: same("log.index.size.max.bytes"),
		Doc: "Accepted for Kafka's tools. A segment carries its index in its footer."},
	{Name: "segment.jitter.ms", Type: Long, Default: "0", Rule: atLeast(0), Synonyms: append(same("log.roll.jitter.ms"), scaled("log.roll.jitter.hours", hour)...),
		Doc: "Accepted for Kafka's tools. Segments are begun when they are due."},
	{Name: "segment.ms", Type: Long, Default: "604800000", Rule: atLeast(1), Synonyms: append(same("log.roll.ms"), scaled("log.roll.hours", hour)...),
		Doc: "The age at which a new segment is begun, though the old one is not full."},
	{Name: "unclean.leader.election.enable", Type: Boolean, Default: "false", Synonyms: same("unclean.leader.election.enable"),
		Doc: "Whether a replica that may lack acknowledged records may lead when no other is left; with one broker it changes nothing."},
}

const (
	minute = 60_000
	hour   = 60 * minute
)

// Shared by a topic setting and its broker setting; never written.
var (
	compressionTypes  = oneOf("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
	retentionSynonyms = []Synonym{{Name: "log.retention.ms"}, {Name: "log.retention.minutes", Scale: minute}, {Name: "log.retention.hours", Scale: hour}}
)
