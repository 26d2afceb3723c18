package sim

import (
	"encoding/binary"
	"strconv"
)

func utoa(n uint64) string { return strconv.FormatUint(n, 10) }

func atoi(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// fill makes the value of a record: its id, then bytes that follow from it.
func fill(id uint64, size int) []byte {
	v := make([]byte, max(size, 8))
	binary.BigEndian.PutUint64(v, id)
	x := id
	for i := 8; i < len(v); i += 8 {
		x = mix(x + 1)
		var eight [8]byte
		binary.BigEndian.PutUint64(eight[:], x)
		copy(v[i:], eight[:])
	}
	return v
}

// filled tells whether a value is still what fill made.
func filled(v []byte, id uint64) bool {
	x := id
	for i := 8; i < len(v); i += 8 {
		x = mix(x + 1)
		var eight [8]byte
		binary.BigEndian.PutUint64(eight[:], x)
		if string(v[i:min(i+8, len(v))]) != string(eight[:min(8, len(v)-i)]) {
			return false
		}
	}
	return true
}
