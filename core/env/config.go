package env

// Config is all that a broker is told about its world. Every limit is here, so
// that the simulator can make it tiny. It does not change within a life.
type Config struct {
	ClusterID string
	NodeID    int32
	// Incarnation is new for each life: it names the registration.
	Incarnation [16]byte
	// Seed is new for each life; the broker draws from it by key.
	Seed uint64
	// Advertised is where clients reach this broker, by listener name.
	Advertised []Endpoint
	Rack       string
	// Disk is the size of the data directory's file system, in bytes; 0: not known.
	Disk int64
	// Properties are the broker's settings by Kafka's name, those that were given;
	// core/config knows the defaults and has checked them.
	Properties []Property
	Limits     Limits
	// AcceptLoss lists the logs whose damage an operator has accepted.
	AcceptLoss []LogID
}

// Endpoint is an advertised listener.
type Endpoint struct {
	Listener, Host string
	Port           int32
}

// Property is one setting and where it came from.
type Property struct {
	Name, Value string
	Default     bool // not given by the operator
}

// Limits bounds what a broker holds and how it works. Sizes are bytes.
type Limits struct {
	Unwritten   int64 // appended and not Written, or about to be appended when a Job is done
	Tails       int64 // records in memory that their segment does not have yet
	Journal     int64 // journal behind the cut
	Reads       int64 // asked by Reads and not Loaded
	Replies     int64 // replied and not Sent
	Reserve     int64 // free space kept on the disk
	IndexCache  int64 // footers of sealed segments in memory
	ConnShare   int32 // percent of a budget that one connection may hold
	StoreBytes  int64 // a tail this large is stored
	StoreAge    Time  // a tail this old is stored when the log has an open segment
	IndexEvery  int32 // bytes of whole batches between two index entries
	CheckEvery  int64 // a log is checkpointed when it has stored this much since
	ReplayBytes int64 // bytes of the metadata log read in one piece
	CarryMax    int64 // a tail no larger than this is journaled again instead of stored
	Producers   int32 // batches remembered for each idempotent producer (Kafka: 5)
	EpochMax    int16 // the largest producer epoch (Kafka: 32767)
	FetchMax    int32 // fetch.max.bytes
	Sessions    int32 // incremental fetch sessions kept
	// SessionParts bounds the partitions of all fetch sessions together: each
	// costs some 200 bytes for as long as its session lives.
	SessionParts int32
	ProducerIDs  int64 // producer ids in one block (Kafka: 1000)
}

// DefaultLimits are the limits of a production broker.
func DefaultLimits() Limits {
	const mib = 1 << 20
	return Limits{
		Unwritten: 64 * mib, Tails: 64 * mib, Journal: 1024 * mib, Reads: 64 * mib, Replies: 64 * mib,
		Reserve: 256 * mib, IndexCache: 32 * mib, ConnShare: 50,
		StoreBytes: mib, StoreAge: 5 * Second, IndexEvery: 64 << 10, CheckEvery: 64 * mib, ReplayBytes: 4 * mib,
		CarryMax: 16 << 10, Producers: 5, EpochMax: 32767, FetchMax: 55 * mib, Sessions: 1000, SessionParts: 200_000, ProducerIDs: 1000,
	}
}
