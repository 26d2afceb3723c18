package journal

import "github.com/orrery-log/orrery/core/env"

// Recent is the first entry of the newest ones that have at most so many bytes
// together: what lies before it is old.
func (j *Journal) Recent(bytes int64) env.Seq {
	seq, sum := j.next, int64(0)
	for i := len(j.sizes) - 1; i >= j.head; i-- {
		if sum += int64(j.sizes[i]); sum > bytes {
			break
		}
		seq--
	}
	return seq
}
