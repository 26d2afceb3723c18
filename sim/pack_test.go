package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
	"github.com/orrery-log/orrery/core/record/codec"
)

func TestPackedBatchesAreWhatRealDecompressorsRead(t *testing.T) {
	for _, c := range []env.Codec{env.None, env.Gzip, env.Snappy, env.LZ4, env.Zstd} {
		for _, size := range []int{1, 100, 60_000, 200_000} {
			plain := record.Build(record.NoProducer(), []record.Record{{Value: fill(7, size)}})
			packed := pack(plain, c)
			require.True(t, packed.Sound())
			require.Equal(t, c, packed.Codec())
			if c != env.None {
				got, fault := codec.Decompress(c, packed.Records(), 1<<24)
				require.Equal(t, codec.Sound, fault, "codec %d, %d bytes", c, size)
				require.Equal(t, []byte(plain.Records()), got)
			}
			got, ok := unpack(packed)
			require.True(t, ok)
			require.Equal(t, []byte(plain.Records()), got)
		}
	}
}
