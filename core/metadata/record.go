package metadata

import "fmt"

// Record is one record of the metadata log. The set is closed.
type Record interface{ kind() Kind }

// Kind is a record's type on the wire; the numbers are KRaft's.
type Kind uint32

// The records of this release.
const (
	kindRegisterBroker   Kind = 0
	kindUnregisterBroker Kind = 1
	kindTopic            Kind = 2
	kindPartition        Kind = 3
	kindConfig           Kind = 4
	kindPartitionChange  Kind = 5
	kindRemoveTopic      Kind = 9
	kindFeatureLevel     Kind = 12
	kindProducerIDs      Kind = 15
	kindNoOp             Kind = 20
)

// ID is a topic id. It is unique for ever: a topic recreated under its old name
// has another one.
type ID [16]byte

// MetadataTopic is the id of the metadata log itself. No topic has it, nor zero.
func MetadataTopic() ID { return ID{15: 1} }

// MetadataName is the name of the metadata log.
const MetadataName = "__cluster_metadata"

// NoLeader stands where a partition has no leader.
const NoLeader int32 = -1

type (
	// RegisterBroker begins a life of a broker.
	RegisterBroker struct {
		Broker      int32
		Incarnation [16]byte // names this life
		Epoch       int64    // names it in requests; grows with each registration
		Endpoints   []Endpoint
		Rack        string // empty: none
		Fenced      bool
	}

	// UnregisterBroker ends a broker for good.
	UnregisterBroker struct {
		Broker int32
		Epoch  int64
	}

	// AddTopic creates a topic; its partitions and configs follow.
	AddTopic struct {
		Name string
		ID   ID
	}

	// AddPartition creates the next partition of a topic, or states one whole.
	AddPartition struct {
		Topic     ID
		Partition int32
		PartitionState
	}

	// SetConfig sets one config of a resource; a null value removes it.
	SetConfig struct {
		Resource Resource
		Name     string
		Value    string
		Remove   bool
	}

	// ChangePartition changes what it has and leaves the rest. The partition epoch
	// rises with each; the leader epoch rises when the leader is given.
	ChangePartition struct {
		Topic     ID
		Partition int32
		ISR       []int32 // nil: as it is
		Replicas  []int32 // nil: as they are
		Leader    int32   // LeaderAsIs: as it is
	}

	// RemoveTopic ends a topic with its partitions and configs.
	RemoveTopic struct{ ID ID }

	// SetFeature finalizes a feature at a level; level 0 removes it.
	SetFeature struct {
		Name  string
		Level int16
	}

	// ProducerIDs hands ids up to Next, exclusive, to a broker.
	ProducerIDs struct {
		Broker int32
		Epoch  int64
		Next   int64
	}

	// NoOp changes nothing.
	NoOp struct{}
)

// LeaderAsIs in a ChangePartition leaves the leader and its epoch.
const LeaderAsIs int32 = -2

// Endpoint is where a broker is reached.
type Endpoint struct {
	Listener, Host string
	Port           uint16
	Protocol       int16 // Kafka's security protocol; 0 is PLAINTEXT
}

// PartitionState is what a partition has beside its name.
type PartitionState struct {
	Replicas       []int32
	ISR            []int32
	Leader         int32 // NoLeader: none
	LeaderEpoch    int32
	PartitionEpoch int32 // rises with every change of the partition
}

// Resource names what configs belong to.
type Resource struct {
	Type ResourceType
	Name string
}

// ResourceType is what a resource is; the numbers are Kafka's.
type ResourceType int8

// Resources that have configs here. A broker resource of the empty name is all brokers.
const (
	TopicResource  ResourceType = 2
	BrokerResource ResourceType = 4
)

func (RegisterBroker) kind() Kind   { return kindRegisterBroker }
func (UnregisterBroker) kind() Kind { return kindUnregisterBroker }
func (AddTopic) kind() Kind         { return kindTopic }
func (AddPartition) kind() Kind     { return kindPartition }
func (SetConfig) kind() Kind        { return kindConfig }
func (ChangePartition) kind() Kind  { return kindPartitionChange }
func (RemoveTopic) kind() Kind      { return kindRemoveTopic }
func (SetFeature) kind() Kind       { return kindFeatureLevel }
func (ProducerIDs) kind() Kind      { return kindProducerIDs }
func (NoOp) kind() Kind             { return kindNoOp }

func (id ID) String() string { return fmt.Sprintf("%x", id[:]) }
