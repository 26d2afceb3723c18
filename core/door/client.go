package door

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
)

// EncodeRequest appends the whole frame of a client's request to dst, size
// prefix included, in the version that req is set to. A nil clientID is null.
func EncodeRequest(dst []byte, correlation int32, clientID *string, req kmsg.Request) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint16(dst, uint16(req.Key()))
	dst = binary.BigEndian.AppendUint16(dst, uint16(req.GetVersion()))
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlation))
	if clientID == nil {
		dst = append(dst, 0xff, 0xff)
	} else {
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(*clientID)))
		dst = append(dst, *clientID...)
	}
	if req.IsFlexible() {
		dst = append(dst, 0)
	}
	dst = req.AppendTo(dst)
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// DecodeResponse reads the frame (without size prefix) that answers a request of
// this key and version.
func DecodeResponse(frame []byte, key, version int16) (correlation int32, resp kmsg.Response, err error) {
	if len(frame) < 4 {
		return 0, nil, errors.New("a response without a header")
	}
	correlation = int32(binary.BigEndian.Uint32(frame))
	frame = frame[4:]
	resp = kmsg.ResponseForKey(key)
	if resp == nil {
		return correlation, nil, fmt.Errorf("a response to the unknown API key %d", key)
	}
	resp.SetVersion(version)
	if key == int16(kmsg.ApiVersions) && len(frame) >= 2 && int16(binary.BigEndian.Uint16(frame)) == env.UnsupportedVersion {
		resp.SetVersion(0)
	}
	if flexibleHeader(key, resp.IsFlexible()) {
		var ok bool
		if frame, ok = skipTags(frame); !ok {
			return correlation, nil, errors.New("a response header that ends too early")
		}
	}
	return correlation, resp, decode(frame, resp)
}
