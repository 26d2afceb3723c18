package log

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestLossesAreASetOfOffsets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d damage
		const n = 40
		var lost, accepted [n]bool
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			from := rapid.IntRange(0, n-1).Draw(t, "from")
			to := rapid.IntRange(from+1, n).Draw(t, "to")
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			default:
				d.add(int64(from), int64(to))
				for i := from; i < to; i++ {
					lost[i] = true
				}
			case 3:
				d.accept()
				accepted = lost
			case 4:
				d.startAt(int64(from))
			}
			end, first := int64(0), int64(n)
			if len(d.spans) > 0 {
				first = d.spans[0].from
			}
			for _, s := range d.spans {
				require.LessOrEqual(t, end, s.from)
				require.Less(t, s.from, s.to)
				end = s.to
			}
			for i := first; i < n; i++ {
				next, isLost := d.pass(i)
				want := i
				for want < n && lost[want] && accepted[want] {
					want++
				}
				require.Equal(t, want, next, "%v at %d", d.spans, i)
				require.Equal(t, want < n && lost[want], isLost)
			}
			for i := range first {
				if lost[i] { // startAt forgot it
					lost[i], accepted[i] = false, false
				}
			}
			if len(d.spans) == 0 {
				lost, accepted = [n]bool{}, [n]bool{}
			}
		}
	})
}
