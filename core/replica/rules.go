package replica

// The safety rules of a single copy, small enough to be read at a glance.

// commitEnd is the end of what the in-sync replicas hold as durably as the topic
// asks; this copy is the only one.
func commitEnd(durable int64) int64 { return durable }

// ackedCommitted: acks=all is answered when the watermark has passed the record.
func ackedCommitted(hw, end int64) bool { return hw >= end }

// ackedWritten: acks=1 is answered when the record survives the process.
func ackedWritten(written, end int64) bool { return written >= end }

// ReadLimit is the first offset that a reader may not see.
func (r *Replica) ReadLimit() int64 { return r.hw }

// Committed tells whether everything before end is committed.
func (r *Replica) Committed(end int64) bool { return ackedCommitted(r.hw, end) }

// WrittenTo tells whether everything before end survives the process.
func (r *Replica) WrittenTo(end int64) bool { return ackedWritten(r.Log.Written(), end) }
