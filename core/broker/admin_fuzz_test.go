package broker

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/door"
	"github.com/orrery-log/orrery/core/record"
)

// adminKeys are the families whose every request is answered without waiting for
// anything but the medium.
var adminKeys = [...]kmsg.Key{kmsg.Metadata, kmsg.CreateTopics, kmsg.DeleteTopics, kmsg.CreatePartitions, kmsg.DescribeConfigs, kmsg.AlterConfigs,
	kmsg.IncrementalAlterConfigs, kmsg.DescribeCluster, kmsg.DescribeTopicPartitions, kmsg.DescribeLogDirs, kmsg.ListConfigResources,
	kmsg.DescribeProducers, kmsg.InitProducerID}

// FuzzAdminRequest: whatever decodes is answered, once, with what can be encoded
// and read again; and what was decided is replayed to the same image.
func FuzzAdminRequest(f *testing.F) {
	index := func(key kmsg.Key) uint8 {
		for i, k := range adminKeys {
			if k == key {
				return uint8(i)
			}
		}
		panic("no such key")
	}
	for _, req := range []kmsg.Request{createRequest(7, "a", "b"), createRequest(2, "a.b", "a_b"), metadataRequest(13, "a", "new"), incremental(2, "a", "retention.ms", "5"),
		incremental(4, "", "log.retention.ms", "5"), describeRequest(4, 2, "a"), describeRequest(1, 4, "1"), pageRequest(1, "a", "b")} {
		f.Add(index(kmsg.Key(req.Key())), uint8(req.GetVersion()), req.AppendTo(nil))
	}
	for i := range adminKeys {
		for version := range uint8(8) {
			req := kmsg.RequestForKey(int16(adminKeys[i]))
			req.SetVersion(int16(version))
			f.Add(uint8(i), version, req.AppendTo(nil))
		}
	}
	f.Fuzz(func(t *testing.T, which, version uint8, body []byte) {
		key := int16(adminKeys[int(which)%len(adminKeys)])
		low, high, _, _ := door.Range(key)
		req := kmsg.RequestForKey(key)
		req.SetVersion(low + int16(version)%(high-low+1))
		if req.ReadFrom(body) != nil {
			return
		}
		d := newDesk(t)
		d.create("a", "b")
		res := d.ask(req)
		bytes := res.AppendTo(nil)
		again := req.ResponseKind()
		require.NoError(t, again.ReadFrom(bytes))
		require.Equal(t, bytes, again.AppendTo(nil))
		require.Less(t, len(bytes), 100_000+40*len(body), "a small request has a small answer")

		replayed := New(d.b.cfg, d.now)
		replayed.applyMeta(metadataOf(t, d))
		require.Equal(t, d.b.image.Digest(), replayed.image.Digest())
	})
}

// metadataOf is the whole metadata log; memory has it all, since no bytes were stored.
func metadataOf(t *testing.T, d *desk) []byte {
	log := d.b.parts[d.b.meta.slot].rep.Log
	var data []byte
	for from := log.Start(); from < log.End(); {
		plan := log.Read(&d.b.index, from, log.End(), 1<<20, true)
		require.NotEmpty(t, plan.Data, plan.State.String())
		data = append(data, plan.Data...)
		for rest := plan.Data; len(rest) > 0; {
			batch, behind, ok := record.Next(rest)
			require.True(t, ok)
			from, rest = batch.End(), behind
		}
	}
	return data
}
