package door

import "github.com/twmb/franz-go/pkg/kmsg"

// Range gives the versions of an API that are served, and the lowest one that
// ApiVersions tells. The two minimums differ where old clients decide by what is
// told: librdkafka compresses only for a broker that knows Produce 0.
func Range(key int16) (min, max, advertisedMin int16, ok bool) {
	switch kmsg.Key(key) {
	case kmsg.Produce:
		return 3, 13, 0, true
	case kmsg.Fetch:
		return served(4, 18)
	case kmsg.ListOffsets:
		return served(1, 11)
	case kmsg.Metadata:
		return served(0, 13)
	case kmsg.FindCoordinator:
		return served(0, 6)
	case kmsg.ApiVersions:
		return served(0, 5)
	case kmsg.CreateTopics:
		return served(2, 7)
	case kmsg.DeleteTopics:
		return served(1, 6)
	case kmsg.DeleteRecords:
		return served(0, 2)
	case kmsg.InitProducerID:
		return served(0, 5)
	case kmsg.OffsetForLeaderEpoch:
		return served(2, 4)
	case kmsg.DescribeConfigs:
		return served(1, 4)
	case kmsg.AlterConfigs:
		return served(0, 2)
	case kmsg.DescribeLogDirs:
		return served(1, 5)
	case kmsg.CreatePartitions:
		return served(0, 3)
	case kmsg.IncrementalAlterConfigs:
		return served(0, 1)
	case kmsg.DescribeCluster:
		return served(0, 2)
	case kmsg.DescribeProducers:
		return served(0, 0)
	case kmsg.ListConfigResources:
		return served(0, 1)
	case kmsg.DescribeTopicPartitions:
		return served(0, 0)
	}
	return 0, 0, 0, false
}

func served(lowest, highest int16) (min, max, advertisedMin int16, ok bool) {
	return lowest, highest, lowest, true
}

// Keys lists the served APIs, in rising order.
func Keys() []int16 {
	var keys []int16
	for key := int16(0); key <= kmsg.MaxKey; key++ {
		if _, _, _, ok := Range(key); ok {
			keys = append(keys, key)
		}
	}
	return keys
}
