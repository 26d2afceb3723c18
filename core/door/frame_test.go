package door

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
)

// every calls f for each served version.
func every(f func(key, version int16)) {
	for _, key := range Keys() {
		min, max, _, _ := Range(key)
		for version := min; version <= max; version++ {
			f(key, version)
		}
	}
}

func TestEveryServedVersionIsKnownToTheCodec(t *testing.T) {
	for _, key := range Keys() {
		min, max, told, ok := Range(key)
		require.True(t, ok)
		require.NotNil(t, kmsg.RequestForKey(key))
		require.LessOrEqual(t, max, kmsg.RequestForKey(key).MaxVersion(), "key %d", key)
		require.True(t, told >= 0 && told <= min && min <= max, "key %d", key)
	}
}

func TestEveryServedVersionTravelsThroughTheDoor(t *testing.T) {
	id := "an id"
	every(func(key, version int16) {
		req := kmsg.RequestForKey(key)
		req.SetVersion(version)
		for _, clientID := range []*string{nil, &id} {
			h, r, err := Open(EncodeRequest(nil, -5, clientID, req)[4:], DefaultLimits())
			require.NoError(t, err, "key %d version %d", key, version)
			require.Equal(t, Header{key, version, -5}, h)
			require.Equal(t, clientID != nil, r.ClientID == id)
			require.Equal(t, version, r.Body.GetVersion())
			require.False(t, r.Unsupported)
			require.Equal(t, EncodeRequest(nil, 0, nil, req), EncodeRequest(nil, 0, nil, r.Body))

			resp := req.ResponseKind()
			resp.SetVersion(99) // what is set here does not count
			sealed := Seal([]byte("before"), h, resp)
			require.Equal(t, "before", string(sealed[:6]))
			require.Equal(t, uint32(len(sealed)-10), binary.BigEndian.Uint32(sealed[6:]))
			correlation, got, err := DecodeResponse(sealed[10:], key, version)
			require.NoError(t, err, "key %d version %d", key, version)
			require.Equal(t, int32(-5), correlation)
			require.Equal(t, version, got.GetVersion())
			require.Equal(t, resp.AppendTo(nil), got.AppendTo(nil))
		}
	})
}

func TestWhatIsNotServedClosesTheConnection(t *testing.T) {
	frame := func(key, version int16) []byte {
		b := binary.BigEndian.AppendUint16(nil, uint16(key))
		b = binary.BigEndian.AppendUint16(b, uint16(version))
		return append(b, 0, 0, 0, 9, 0xff, 0xff, 0, 0, 0, 0, 0, 0)
	}
	for key := int16(-3); key < 120; key++ {
		min, max, _, ok := Range(key)
		for version := int16(-2); version < 30; version++ {
			if key == int16(kmsg.ApiVersions) || ok && version >= min && version <= max {
				continue
			}
			_, _, err := Open(frame(key, version), DefaultLimits())
			require.Error(t, err, "key %d version %d", key, version)
		}
	}
	for n := range 8 {
		_, _, err := Open(frame(3, 0)[:n], DefaultLimits())
		require.Error(t, err)
	}
}

func TestApiVersionsOfAnyVersionIsAnswered(t *testing.T) {
	for _, version := range []int16{-1, 6, 99, 32767} {
		frame := binary.BigEndian.AppendUint16([]byte{0, 18}, uint16(version))
		for _, body := range [][]byte{nil, {0xff}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}} {
			h, r, err := Open(append(append(frame[:4:4], 0, 0, 0, 77), body...), DefaultLimits())
			require.NoError(t, err)
			require.True(t, r.Unsupported)
			require.Equal(t, Header{18, version, 77}, h)
			require.Equal(t, int16(18), r.Body.Key())
			require.Zero(t, r.Body.GetVersion())
		}
	}
}

func TestUnsupportedApiVersionsIsAnsweredInVersionZero(t *testing.T) {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = env.UnsupportedVersion
	key := kmsg.NewApiVersionsResponseApiKey()
	key.ApiKey, key.MaxVersion = 18, 5
	resp.ApiKeys = append(resp.ApiKeys, key)
	want := []byte{0, 0, 0, 16, 0, 0, 0, 77, 0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 5}
	require.Equal(t, want, Seal(nil, Header{18, 99, 77}, resp))

	_, got, err := DecodeResponse(want[4:], 18, 3)
	require.NoError(t, err)
	require.Equal(t, env.UnsupportedVersion, got.(*kmsg.ApiVersionsResponse).ErrorCode)

	resp.ErrorCode = 42 // a bad client software name: the layout of its own version
	require.Equal(t, []byte{0, 0, 0, 19, 0, 0, 0, 77, 0, 42, 2, 0, 18, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0}, Seal(nil, Header{18, 3, 77}, resp))
}

func TestHeadersAreReadAsKafkaReadsThem(t *testing.T) {
	metadata := func(version byte, header ...byte) []byte {
		return append([]byte{0, 3, 0, version, 0, 0, 0, 1}, header...)
	}
	flexible := []byte{0, 0, 0, 0} // null topics, two flags, tags
	for _, c := range []struct {
		name  string
		frame []byte
		id    string
		ok    bool
	}{
		{"a null client id", metadata(0, 0xff, 0xff, 0, 0, 0, 0), "", true},
		{"a client id of length -2", metadata(0, 0xff, 0xfe, 0, 0, 0, 0), "", true},
		{"an empty client id", metadata(0, 0, 0, 0, 0, 0, 0), "", true},
		{"a client id", metadata(0, 0, 2, 'i', 'd', 0, 0, 0, 0), "id", true},
		{"a client id beyond the frame", metadata(0, 0, 9, 'i', 'd', 0, 0, 0, 0), "", false},
		{"bytes behind the body", metadata(0, 0, 2, 'i', 'd', 0, 0, 0, 0, 1, 2, 3), "id", true},
		{"half a body", metadata(0, 0, 2, 'i', 'd', 0, 0), "", false},
		{"no header tags", metadata(12, append([]byte{0, 2, 'i', 'd', 0}, flexible...)...), "id", true},
		{"an unknown header tag", metadata(12, append([]byte{0, 2, 'i', 'd', 1, 200, 1, 3, 7, 7, 7}, flexible...)...), "id", true},
		{"a header tag beyond the frame", metadata(12, append([]byte{0, 2, 'i', 'd', 1, 200, 1, 100}, flexible...)...), "", false},
		{"2^32-1 header tags", metadata(12, append([]byte{0, 2, 'i', 'd', 255, 255, 255, 255, 15}, flexible...)...), "", false},
		{"no client id", metadata(12), "", false},
	} {
		_, r, err := Open(c.frame, DefaultLimits())
		require.Equal(t, c.ok, err == nil, "%s: %v", c.name, err)
		if c.ok {
			require.Equal(t, c.id, r.ClientID, c.name)
			require.Equal(t, len(c.frame), r.Size, c.name)
		}
	}
}

func TestFramesAreLimitedByAPI(t *testing.T) {
	l := Limits{Frame: 100, ProduceFrame: 1000, Decompressed: 1 << 20}
	require.Equal(t, int32(1000), FrameLimit(l, 0))
	require.Equal(t, int32(100), FrameLimit(l, 3))
	require.Zero(t, FrameLimit(l, 4), "an API of ZooKeeper's days")
	require.Zero(t, FrameLimit(l, 999))
	_, _, err := Open(append([]byte{0, 3, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}, make([]byte, 87)...), l)
	require.Error(t, err)

	key, version, ok := Peek([]byte{0, 3, 0, 1})
	require.True(t, ok)
	require.Equal(t, [2]int16{3, 1}, [2]int16{key, version})
	_, _, ok = Peek([]byte{0, 3, 0})
	require.False(t, ok)
}

// A small frame must not cost much more than itself, whatever it announces.
func TestDecodingIsBoundedByTheFrame(t *testing.T) {
	many := kmsg.NewPtrProduceRequest()
	many.SetVersion(9)
	topic := kmsg.NewProduceRequestTopic()
	topic.Partitions = make([]kmsg.ProduceRequestTopicPartition, partsMax)
	many.Topics = append(many.Topics, topic)
	_, _, err := Open(EncodeRequest(nil, 1, nil, many)[4:], DefaultLimits())
	require.ErrorContains(t, err, "parts")
	many.Topics[0].Partitions = many.Topics[0].Partitions[1:]
	_, r, err := Open(EncodeRequest(nil, 1, nil, many)[4:], DefaultLimits())
	require.NoError(t, err)
	require.Len(t, r.Batches, partsMax-1)

	every(func(key, version int16) {
		req := kmsg.RequestForKey(key)
		req.SetVersion(version)
		head := EncodeRequest(nil, 1, nil, req)[4:14]
		if req.IsFlexible() {
			head = append(head, 0)
		}
		for _, fill := range []byte{0, 1, 2, 0x7f, 0xff} {
			frame := append([]byte{}, head...)
			for len(frame) < 64<<10 {
				frame = append(frame, fill)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, _ = Open(frame, DefaultLimits())
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64*len(frame)), "key %d version %d fill %d", key, version, fill)
		}
	})
}

func TestSealingAnotherKeysResponseIsOurBug(t *testing.T) {
	require.Panics(t, func() { Seal(nil, Header{Key: 3}, kmsg.NewPtrProduceResponse()) })
}

func TestOpenAndSealAllocateLittle(t *testing.T) {
	b := record.Build(record.NoProducer(), []record.Record{{Time: 1, Key: []byte("k"), Value: make([]byte, 1000)}})
	frame := produceFrame(11, b)
	var s Scratch
	l := DefaultLimits()
	allocs := testing.AllocsPerRun(100, func() {
		_, r, err := s.Open(frame, l)
		if err != nil || r.Batches[0].Fault != 0 {
			panic("not opened")
		}
	})
	t.Logf("Open: %v allocations", allocs)
	require.LessOrEqual(t, allocs, float64(7)) // request, client id, topics, name, partitions, transactional id, batches

	resp := kmsg.NewPtrProduceResponse()
	topic := kmsg.NewProduceResponseTopic()
	topic.Topic = "t"
	topic.Partitions = append(topic.Partitions, kmsg.NewProduceResponseTopicPartition())
	resp.Topics = append(resp.Topics, topic)
	dst := make([]byte, 0, 1<<10)
	allocs = testing.AllocsPerRun(100, func() { dst = Seal(dst[:0], Header{0, 11, 1}, resp) })
	t.Logf("Seal: %v allocations", allocs)
	require.Zero(t, allocs)
}
