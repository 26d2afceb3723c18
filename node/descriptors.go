package node

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Descriptors that are neither a connection's nor a segment's: the journal's files,
// listeners, directories that are synced, the runtime's own; and what the disk keeps
// in reserve.
const descriptorsKept = 128

// segmentsOpen is how many segments stay open where the system allows it.
const segmentsOpen = 512

// shareDescriptors shares what the system allows a process to hold. Connections get
// what is left: clients must not be able to take the descriptors that the disk needs,
// for a disk that can not open its file ends the node.
func shareDescriptors(limit int64, connsWanted int) (segments, conns int) {
	segments = int(min(segmentsOpen, limit/4))
	conns = int(min(int64(connsWanted), limit-int64(segments)-descriptorsKept))
	return segments, max(conns, 1)
}

// descriptorLimit is what the system allows. Go has raised it to the most that the
// process may ask for.
func descriptorLimit() (int64, error) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 0, fmt.Errorf("the limit of open files: %w", err)
	}
	return int64(min(l.Cur, 1<<30)), nil
}
