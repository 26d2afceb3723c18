package record

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBuiltBatchesParseBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.OneOf(rapid.Just([]byte(nil)), rapid.SliceOf(rapid.Byte()))
		var records []Record
		for i := range rapid.IntRange(1, 20).Draw(t, "n") {
			r := Record{Offset: 7 + int64(i), Time: rapid.Int64Range(0, 1<<45).Draw(t, "time"), Key: bytes.Draw(t, "key"), Value: bytes.Draw(t, "value")}
			for range rapid.IntRange(0, 3).Draw(t, "headers") {
				r.Headers = append(r.Headers, Header{Key: rapid.String().Draw(t, "hk"), Value: bytes.Draw(t, "hv")})
			}
			records = append(records, r)
		}
		s := NoProducer()
		s.Base = 7
		b := Build(s, records)
		require.True(t, b.Sound())
		cut, rest, ok := Next(append(append([]byte{}, b...), 1, 2, 3))
		require.True(t, ok)
		require.Len(t, rest, 3)
		got, ok := Parse(cut, cut.Records())
		require.True(t, ok)
		require.Equal(t, records, got)
		require.Equal(t, int64(7+len(records)), cut.End())
	})
}

func TestSequencesWrapToZero(t *testing.T) {
	require.Equal(t, int32(0), AddSequence(1<<31-1, 1))
	require.Equal(t, int32(4), AddSequence(1<<31-3, 7))
	require.Equal(t, int32(1<<31-1), AddSequence(1<<31-2, 1))
}
