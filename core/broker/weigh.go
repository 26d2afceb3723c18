package broker

import "github.com/twmb/franz-go/pkg/kmsg"

// What a topic, a partition and a config of a response hold in memory, about.
const (
	topicBytes     = 128
	partitionBytes = 256
	configBytes    = 256
	// littleBytes is what an answer may hold and not be counted: the answer to a
	// Produce, mostly.
	littleBytes = 512
)

// weigh is about what a response holds in memory, for the answers that grow with
// what a client asks.
func weigh(body kmsg.Response) int64 {
	topics, partitions, configs, data := 0, 0, 0, 0
	switch r := body.(type) {
	case *kmsg.ProduceResponse:
		topics = len(r.Topics)
		for i := range r.Topics {
			partitions += len(r.Topics[i].Partitions)
		}
	case *kmsg.FetchResponse:
		topics = len(r.Topics)
		for i := range r.Topics {
			partitions += len(r.Topics[i].Partitions)
			for k := range r.Topics[i].Partitions {
				data += len(r.Topics[i].Partitions[k].RecordBatches)
			}
		}
	case *kmsg.ListOffsetsResponse:
		topics = len(r.Topics)
		for i := range r.Topics {
			partitions += len(r.Topics[i].Partitions)
		}
	case *kmsg.OffsetForLeaderEpochResponse:
		topics = len(r.Topics)
		for i := range r.Topics {
			partitions += len(r.Topics[i].Partitions)
		}
	case *kmsg.DeleteRecordsResponse:
		topics = len(r.Topics)
		for i := range r.Topics {
			partitions += len(r.Topics[i].Partitions)
		}
	case *kmsg.MetadataResponse:
		topics = len(r.Topics)
		for i := range r.Topics {
			partitions += len(r.Topics[i].Partitions)
		}
	case *kmsg.DescribeTopicPartitionsResponse:
		topics = len(r.Topics)
		for i := range r.Topics {
			partitions += len(r.Topics[i].Partitions)
		}
	case *kmsg.DescribeProducersResponse:
		topics = len(r.Topics)
		for i := range r.Topics {
			for k := range r.Topics[i].Partitions {
				partitions += 1 + len(r.Topics[i].Partitions[k].ActiveProducers)
			}
		}
	case *kmsg.DescribeLogDirsResponse:
		for d := range r.Dirs {
			topics += len(r.Dirs[d].Topics)
			for i := range r.Dirs[d].Topics {
				partitions += len(r.Dirs[d].Topics[i].Partitions)
			}
		}
	case *kmsg.CreateTopicsResponse:
		topics = len(r.Topics)
		for i := range r.Topics {
			configs += len(r.Topics[i].Configs)
		}
	case *kmsg.DescribeConfigsResponse:
		topics = len(r.Resources)
		for i := range r.Resources {
			configs += len(r.Resources[i].Configs)
		}
	case *kmsg.DeleteTopicsResponse:
		topics = len(r.Topics)
	case *kmsg.CreatePartitionsResponse:
		topics = len(r.Topics)
	case *kmsg.AlterConfigsResponse:
		topics = len(r.Resources)
	case *kmsg.IncrementalAlterConfigsResponse:
		topics = len(r.Resources)
	case *kmsg.ListConfigResourcesResponse:
		topics = len(r.ConfigResources)
	}
	return int64(topics)*topicBytes + int64(partitions)*partitionBytes + int64(configs)*configBytes + int64(data)
}
