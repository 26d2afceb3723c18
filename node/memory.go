package node

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/net"
)

// quietHeap is the heap below which a collection is not worth its work. A broker
// keeps little and allocates much (frames, journal groups), so Go's own rule, to
// collect when the heap has doubled, would collect dozens of times a second.
const quietHeap = 128 << 20

// tuneMemory sets the collector's goals from the budgets, unless the operator has
// set GOGC or GOMEMLIMIT.
func tuneMemory(l env.Limits, o net.Options) {
	if os.Getenv("GOMEMLIMIT") == "" {
		held := l.Unwritten + l.Tails + l.Reads + l.Replies + l.IndexCache + o.SmallBytes + o.LargeBytes
		debug.SetMemoryLimit(2*held + 4*quietHeap) // twice: a frame outlives its batch by a collection
	}
	if os.Getenv("GOGC") == "" {
		growQuietly(new(atomic.Int64))
	}
}

// quietPercent is the growth, in percent of what lives, after which to collect.
func quietPercent(live int64) int64 {
	return max(quietHeap*100/max(live, quietHeap/128), 100)
}

// growQuietly lets the heap grow to quietHeap, or to twice what lives, whichever
// is more. What lives changes, and Go knows only a percentage of it; so the
// percentage is set again after each collection: a finalizer runs after each.
func growQuietly(last *atomic.Int64) {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	percent := quietPercent(int64(sample[0].Value.Uint64()))
	if last.Swap(percent) != percent {
		debug.SetGCPercent(int(percent))
	}
	runtime.SetFinalizer(&struct{ again *atomic.Int64 }{last}, func(*struct{ again *atomic.Int64 }) { growQuietly(last) })
}
