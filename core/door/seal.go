package door

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
)

// Seal appends the whole frame of a response to dst, size prefix included. It
// sets the response's version to the request's.
func Seal(dst []byte, h Header, resp kmsg.Response) []byte {
	if resp.Key() != h.Key {
		panic(fmt.Sprintf("door: a response of key %d to a request of key %d", resp.Key(), h.Key))
	}
	resp.SetVersion(layout(h, resp))
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.Correlation))
	if flexibleHeader(h.Key, resp.IsFlexible()) {
		dst = append(dst, 0)
	}
	dst = resp.AppendTo(dst)
	size := len(dst) - at - 4
	if size > math.MaxInt32 {
		panic(fmt.Sprintf("door: a response of %d bytes to key %d", size, h.Key))
	}
	binary.BigEndian.PutUint32(dst[at:], uint32(size))
	return dst
}

// layout is the version a response is written in. A client whose ApiVersions
// version is unknown here can read the answer only in version 0.
func layout(h Header, resp kmsg.Response) int16 {
	if v, ok := resp.(*kmsg.ApiVersionsResponse); ok && v.ErrorCode == env.UnsupportedVersion {
		return 0
	}
	return h.Version
}

// flexibleHeader tells whether a response header ends in tags. That of
// ApiVersions never does: its client does not know yet what the broker speaks.
func flexibleHeader(key int16, flexible bool) bool {
	return flexible && key != int16(kmsg.ApiVersions)
}
