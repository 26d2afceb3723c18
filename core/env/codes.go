package env

// Kafka's error codes, those that the core answers with.
const (
	UnknownServerError                 int16 = -1
	NoError                            int16 = 0
	OffsetOutOfRange                   int16 = 1
	CorruptMessage                     int16 = 2
	UnknownTopicOrPartition            int16 = 3
	LeaderNotAvailable                 int16 = 5
	NotLeaderOrFollower                int16 = 6
	RequestTimedOut                    int16 = 7
	MessageTooLarge                    int16 = 10
	CoordinatorNotAvailable            int16 = 15
	InvalidTopicException              int16 = 17
	NotEnoughReplicas                  int16 = 19
	InvalidRequiredAcks                int16 = 21
	InvalidTimestamp                   int16 = 32
	UnsupportedVersion                 int16 = 35
	TopicAlreadyExists                 int16 = 36
	InvalidPartitions                  int16 = 37
	InvalidReplicationFactor           int16 = 38
	InvalidReplicaAssignment           int16 = 39
	InvalidConfig                      int16 = 40
	InvalidRequest                     int16 = 42
	UnsupportedForFormat               int16 = 43
	PolicyViolation                    int16 = 44
	OutOfOrderSequenceNumber           int16 = 45
	DuplicateSequenceNumber            int16 = 46
	InvalidProducerEpoch               int16 = 47
	InvalidTxnState                    int16 = 48
	TransactionalIDAuthorizationFailed int16 = 53
	KafkaStorageError                  int16 = 56
	UnknownProducerID                  int16 = 59
	FetchSessionIDNotFound             int16 = 70
	InvalidFetchSessionEpoch           int16 = 71
	TopicDeletionDisabled              int16 = 73
	FencedLeaderEpoch                  int16 = 74
	UnknownLeaderEpoch                 int16 = 75
	UnsupportedCompressionType         int16 = 76
	InvalidRecord                      int16 = 87
	UnknownTopicID                     int16 = 100
	InconsistentTopicID                int16 = 103
	FetchSessionTopicIDError           int16 = 106
	MismatchedEndpointType             int16 = 114
	UnsupportedEndpointType            int16 = 115
)
