package door

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/record"
)

// FuzzOpen: no frame makes the door panic, and what it takes says the same when
// it is written and opened again.
func FuzzOpen(f *testing.F) {
	every(func(key, version int16) {
		req := kmsg.RequestForKey(key)
		req.SetVersion(version)
		f.Add(EncodeRequest(nil, 1, nil, req)[4:])
	})
	f.Fuzz(func(t *testing.T, frame []byte) {
		l := Limits{Frame: 1 << 20, ProduceFrame: 1 << 20, Decompressed: 1 << 20}
		h, r, err := Open(bytes.Clone(frame), l)
		if err != nil || r.Unsupported {
			return
		}
		again := EncodeRequest(nil, h.Correlation, &r.ClientID, r.Body)[4:]
		h2, r2, err := Open(again, Limits{Frame: 1 << 28, ProduceFrame: 1 << 28, Decompressed: 1 << 20})
		require.NoError(t, err)
		require.Equal(t, h, h2)
		require.Equal(t, r.ClientID, r2.ClientID)
		require.Equal(t, len(r.Batches), len(r2.Batches))
		for i := range r.Batches {
			require.Equal(t, r.Batches[i].Fault, r2.Batches[i].Fault)
		}
		require.Equal(t, r.Body.AppendTo(nil), r2.Body.AppendTo(nil))
		_ = Seal(nil, h, r.Body.ResponseKind())
	})
}

// FuzzVerify: no batch makes the door panic, with its own checksum or a right
// one, and what is taken is what its BatchInfo says.
func FuzzVerify(f *testing.F) {
	sound := record.Build(record.NoProducer(), sampleRecords()[1:])
	f.Add([]byte(sound), int16(11))
	f.Fuzz(func(t *testing.T, data []byte, version int16) {
		var s Scratch
		l := Limits{Decompressed: 1 << 20}
		checkTaken(t, data, s.verifyProduced(data, version, l))
		b, _, ok := record.Next(bytes.Clone(data))
		if !ok {
			return
		}
		b.Seal()
		checkTaken(t, b, s.verifyProduced(b, version, l))
		s.VerifyBatches(nil, b, l)
	})
}

// FuzzDecodeResponse: no answer of a peer makes the decoder panic.
func FuzzDecodeResponse(f *testing.F) {
	every(func(key, version int16) {
		resp := kmsg.RequestForKey(key).ResponseKind()
		f.Add(Seal(nil, Header{key, version, 1}, resp)[4:], key, version)
	})
	f.Fuzz(func(t *testing.T, frame []byte, key, version int16) {
		_, _, _ = DecodeResponse(frame, key, version)
	})
}
