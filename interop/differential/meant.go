package differential

// meant are the differences that are meant, each with its reason. An entry that
// no difference needs any more fails the test.
var meant = []meaning{
	// ApiVersions.
	{key: 18, path: "*ApiKeys[ApiVersions].MaxVersion", kafka: "4", ours: "5", why: "version 5 came with Kafka 4.4"},
	{key: 18, path: "FinalizedFeatures*", why: "no feature is finalized before groups and transactions are there; clients act on them"},
	{key: 18, path: "SupportedFeatures*", why: "the same"},

	// Produce: a bad batch costs its own partition, with an error that ends the client's retries.
	{key: 0, step: "null (no answer)", why: "Apache Kafka neither answers null records nor closes; we refuse them"},
	{key: 0, path: "*.ErrorCode", kafka: "-1", ours: "2", why: "what can not be read is CORRUPT_MESSAGE: an unknown error is retried for ever"},
	{key: 0, path: "*.LogStartOffset", kafka: "-1", ours: "0", why: "a refusal tells the log's start; Apache Kafka does in some, and no client reads it there"},
	{key: 0, path: "*.LogStartOffset", kafka: "0", ours: "-1", why: "the same, where it does and CORRUPT_MESSAGE does not"},
	{key: 44, path: "*.LogStartOffset", kafka: "-1", ours: "0", why: "the same"},
	{key: 0, step: "beside a good one", path: "*.Partitions[1].*", why: "one unreadable batch does not cost the good partitions beside it"},
	{key: 0, name: "offset deltas *", why: "Apache Kafka stores wrong offset deltas as sent, and consumers see wrong offsets: INVALID_RECORD"},
	{key: 0, name: "delete horizon bit", why: "a producer has no delete horizon: INVALID_RECORD; Apache Kafka takes its base timestamp for one"},
	{key: 0, name: "producer id with a negative epoch", why: "there is no epoch below 0: INVALID_RECORD"},
	{key: 0, name: "*", path: "*.ErrorRecords*", from: 8, to: 13, why: "the batch is refused as one, its records are not listed"},
	{key: 0, name: "idempotent: *", path: "*.LogAppendTime", kafka: "first*", ours: "-1", why: "Apache Kafka gives a duplicate the batch's own time as the log append time, also where the topic has none"},
	{key: 0, name: "timeout 0", why: "an answer waits for the disk, and 0 ms is no time for that"},
	{key: 0, name: "no partitions", why: "a topic without partitions is answered as a topic without partitions"},
	{key: 0, name: "a transactional id without a transaction", why: "INVALID_REQUEST until transactions are there"},

	// Fetch.
	{key: 1, name: "isolation level 7", why: "Apache Kafka answers an unknown error; whatever is not 1 reads uncommitted here"},
	{key: 1, name: "as replica *", from: 12, to: 14, why: "Apache Kafka closes in these three versions only"},
	{key: 1, name: "session: begun without partitions", step: "incremental", path: "SessionID", why: "a session without partitions lives until it is ended, as one with partitions"},
	{key: 1, name: "an error ends the wait", path: "waited", kafka: "true", ours: "false", why: "Apache Kafka waits on although the answer already has an error that the client must see"},
	{key: 1, path: "*RecordBatches*", kafka: "the beginning of a batch", why: "Apache Kafka may cut the last batch, and clients throw it away: we send whole batches only"},
	{key: 1, name: "*max bytes*", path: "*RecordBatches.length", kafka: "", ours: "1", why: "the count of batches where Apache Kafka's last one is cut"},
	{key: 1, name: "*max bytes negative", why: "Apache Kafka answers an unknown error; a limit below 0 is one of 0 here: the first batch, whole"},
	{key: 1, path: "*AbortedTransactions*", why: "null and empty mean the same; we say null where no transaction can be"},

	// Metadata.
	{key: 3, name: "*unknown topic* made", step: "first", why: "auto-creation answers with the leader once the topic is durable; Apache Kafka first answers UNKNOWN_TOPIC_OR_PARTITION"},
	{key: 3, name: "by *id*", from: 10, to: 11, why: "the field is there from version 10 on and is served; Apache Kafka refuses it before 12"},
	{key: 3, name: "by zero id", why: "no name and no id is an error of that entry, not of the request: the brokers are in the answer"},
	{key: 3, from: 0, to: 0, name: "array length -*", why: nullArray},

	// Topics and settings.
	{key: 19, name: "name of 32767 letters", path: "*.ErrorCode", kafka: "-1", ours: "17", why: "Apache Kafka's own error text does not fit into its answer"},
	{key: 19, name: "timeout 0", path: "*.ErrorCode", kafka: "7", ours: "37", why: "what can be refused at once needs no time"},
	{key: 19, name: "names that collide as metrics", why: "refused in one request as one after the other: Apache Kafka looks only at topics that are there"},
	{key: 19, path: "*[min.insync.replicas].Source", kafka: "3", ours: "5", why: "with eligible leader replicas Apache Kafka writes min.insync.replicas as a dynamic default of the cluster"},
	{key: 20, path: "*[min.insync.replicas].Source", kafka: "3", ours: "5", why: "the same, in the topic that is made again"},
	{key: 32, path: "*[min.insync.replicas].*", why: "the same"},
	{key: 32, name: "the same twice", why: "a resource is answered once, however often it is named: a small request must not ask for any amount of memory"},
	{key: 32, name: "*broker with synonyms*", path: "*[node.id].ConfigSynonyms*", why: "node.id has a default here"},
	{key: 33, step: "twice (no answer)", why: "Apache Kafka does not answer an AlterConfigs that names a resource twice; we refuse it with INVALID_REQUEST"},
	{key: 37, name: "a thousand million", path: "*.ErrorCode", kafka: "-1", ours: "44", why: "as CreateTopics answers it: POLICY_VIOLATION"},
	{key: 44, name: "an unknown operation", path: "*.ErrorCode", kafka: "-1", ours: "42", why: "the client is wrong, not the server: INVALID_REQUEST"},
	{key: 75, name: "an empty name", why: "an illegal name is INVALID_TOPIC_EXCEPTION, not an unknown error"},

	// Coordinators.
	{key: 10, from: 0, to: 3, path: "ErrorCode", ours: "15", why: noCoordinators, maybe: true}, {key: 10, from: 0, to: 3, path: "ErrorMessage", why: noCoordinators, maybe: true},
	{key: 10, from: 0, to: 3, path: "NodeID", ours: "-1", why: noCoordinators, maybe: true}, {key: 10, from: 0, to: 3, path: "Host", why: noCoordinators, maybe: true},
	{key: 10, from: 0, to: 3, path: "Port", ours: "-1", why: noCoordinators, maybe: true}, {key: 10, from: 4, to: 6, path: "Coordinators*", why: noCoordinators, maybe: true},

	// What one node is.
	{key: 74, path: "ConfigResources[1*", why: "there are no broker loggers to configure here"},
	{key: 74, path: "ConfigResources.length", why: "the same"},
	{key: 74, path: "ConfigResources", why: "the same"},

	// Others.
	{key: 2, name: "a repeated topic", path: "*", why: "the second entry of a topic is answered as an entry, without the partitions that the first one named"},
	{key: 2, name: "array length -*", why: nullArray}, {key: 19, name: "array length -*", why: nullArray}, {key: 20, name: "array length -*", why: nullArray},
	{key: 21, name: "array length -*", why: nullArray}, {key: 23, name: "array length -*", why: nullArray}, {key: 32, name: "array length -*", why: nullArray},
	{key: 33, name: "array length -*", why: nullArray}, {key: 37, name: "array length -*", why: nullArray}, {key: 44, name: "array length -*", why: nullArray},
}

// Apache Kafka has none either until it has made its internal topics.
const noCoordinators = "there are no coordinators in this release, and each key is told so"

const nullArray = "a null array is taken as an empty one where the protocol has no null: nothing is done and nothing is in the answer"
