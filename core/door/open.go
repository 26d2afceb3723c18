package door

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record/codec"
)

// Limits bounds what a client may make one Open hold; how many run at once is
// the caller's to bound.
type Limits struct {
	Frame        int32 // bytes of a frame of any API but Produce
	ProduceFrame int32 // bytes of a Produce frame (socket.request.max.bytes)
	Decompressed int64 // bytes held while one batch is decompressed
}

// DefaultLimits are the limits of a production broker.
func DefaultLimits() Limits {
	return Limits{Frame: 1 << 20, ProduceFrame: 100 << 20, Decompressed: 64 << 20}
}

// Header is what a response needs to know of its request.
type Header struct {
	Key, Version int16
	Correlation  int32
}

// Scratch keeps decompressors from one request to the next. Its zero value is
// ready; it serves one request at a time. Open works without one and allocates more.
type Scratch struct{ codec codec.Scratch }

// Peek reads a request's key and version off the first four bytes of its frame.
func Peek(frame []byte) (key, version int16, ok bool) {
	if len(frame) < 4 {
		return 0, 0, false
	}
	return int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:])), true
}

// FrameLimit is the largest frame that may carry the API. An API that is not
// served has none: the connection is closed before its body is read.
func FrameLimit(l Limits, key int16) int32 {
	if _, _, _, ok := Range(key); !ok {
		return 0
	}
	if key == int16(kmsg.Produce) {
		return l.ProduceFrame
	}
	return l.Frame
}

// Open decodes and verifies one request. The frame has no size prefix and
// belongs to the request from now on: its records alias it. An error means that
// the connection must be closed, as Kafka does; there is no answer to give.
func Open(frame []byte, l Limits) (Header, env.Request, error) {
	return new(Scratch).Open(frame, l)
}

// Open is the function Open with the memory of a Scratch.
func (s *Scratch) Open(frame []byte, l Limits) (h Header, r env.Request, err error) {
	if len(frame) < 8 {
		return h, r, errors.New("a frame without a header")
	}
	h.Key, h.Version, _ = Peek(frame)
	h.Correlation = int32(binary.BigEndian.Uint32(frame[4:]))
	min, max, _, ok := Range(h.Key)
	if !ok {
		return h, r, fmt.Errorf("API key %d is not served", h.Key)
	}
	if limit := FrameLimit(l, h.Key); int64(len(frame)) > int64(limit) {
		return h, r, fmt.Errorf("a frame of %d bytes for API key %d, at most %d are taken", len(frame), h.Key, limit)
	}
	r.Size = len(frame)
	if h.Version < min || h.Version > max {
		if h.Key == int16(kmsg.ApiVersions) {
			// KIP-511: whatever the body is, the client learns what it may ask.
			r.Body, r.Unsupported = new(kmsg.ApiVersionsRequest), true
			return h, r, nil
		}
		return h, r, fmt.Errorf("API key %d version %d is not served", h.Key, h.Version)
	}
	body := kmsg.RequestForKey(h.Key)
	body.SetVersion(h.Version)
	clientID, rest, ok := header(frame[8:], body.IsFlexible())
	if !ok {
		return h, r, errors.New("a request header that ends too early")
	}
	if h.Key == int16(kmsg.Produce) {
		if parts, ok := produceParts(rest, h.Version); !ok || parts > partsMax {
			return h, r, fmt.Errorf("a Produce body of %d bytes that is broken or has more than %d parts", len(rest), partsMax)
		}
	}
	r.ClientID, r.Body = clientID, body
	if err := decode(rest, body); err != nil {
		return h, r, fmt.Errorf("API key %d version %d: %w", h.Key, h.Version, err)
	}
	if produce, ok := body.(*kmsg.ProduceRequest); ok {
		r.Batches = s.verifyProduce(produce, l)
	}
	return h, r, nil
}

// header reads the client id (never compact; any negative length is null) and
// skips the tags of a flexible header.
func header(b []byte, flexible bool) (clientID string, rest []byte, ok bool) {
	if len(b) < 2 {
		return "", nil, false
	}
	n := int16(binary.BigEndian.Uint16(b))
	b = b[2:]
	if n > 0 {
		if int(n) > len(b) {
			return "", nil, false
		}
		clientID, b = string(b[:n]), b[n:]
	}
	if !flexible {
		return clientID, b, true
	}
	rest, ok = skipTags(b)
	return clientID, rest, ok
}

func skipTags(b []byte) (rest []byte, ok bool) {
	count, b, ok := uvarint(b)
	if !ok {
		return nil, false
	}
	return skipTagsOf(count, b)
}

// skipTagsOf skips as many tags: a number and a length each, and their bytes.
func skipTagsOf(count uint32, b []byte) (rest []byte, ok bool) {
	for ; count > 0; count-- {
		if _, b, ok = uvarint(b); !ok {
			return nil, false
		}
		var size uint32
		if size, b, ok = uvarint(b); !ok || uint64(size) > uint64(len(b)) {
			return nil, false
		}
		b = b[size:]
	}
	return b, true
}

func uvarint(b []byte) (v uint32, rest []byte, ok bool) {
	u, n := binary.Uvarint(b)
	if n <= 0 || n > 5 || u > 1<<32-1 {
		return 0, nil, false
	}
	return uint32(u), b[n:], true
}

// decode turns a panic of the generated decoder into an error: its input comes
// from strangers.
func decode(b []byte, body interface{ ReadFrom([]byte) error }) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("undecodable: %v", r)
		}
	}()
	return body.ReadFrom(b)
}
