package differential

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// outcome is how a broker took a request.
type outcome string

const (
	answered outcome = "answered"
	closed   outcome = "closed"  // the connection ended without an answer
	silent   outcome = "silence" // neither, for a while
)

// conn is one connection, used by one case, one request at a time.
type conn struct {
	net.Conn
	correlation int32
}

func dial(addr string) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

// header is a request header of version 2 if flexible, else of version 1.
func header(key, version int16, correlation int32, flexible bool) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, uint32(correlation))
	b = binary.BigEndian.AppendUint16(b, uint16(len(clientID)))
	b = append(b, clientID...)
	if flexible {
		b = append(b, 0)
	}
	return b
}

const clientID = "differential"

// ask sends header and body as one frame and waits for the frame that answers it.
func (c *conn) ask(key, version int16, flexible bool, body []byte, patience time.Duration) (outcome, []byte, error) {
	c.correlation++
	frame := append(header(key, version, c.correlation, flexible), body...)
	frame = append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)
	if _, err := c.Write(frame); err != nil {
		return closed, nil, nil
	}
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return closed, nil, err
	}
	var head [8]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return silent, nil, nil
		}
		return closed, nil, nil
	}
	size := int32(binary.BigEndian.Uint32(head[:]))
	if size < 4 || size > 256<<20 {
		return answered, nil, errors.New("the answer's size prefix is impossible")
	}
	if got := int32(binary.BigEndian.Uint32(head[4:])); got != c.correlation {
		return answered, nil, errors.New("the answer has another request's correlation id")
	}
	answer := make([]byte, size-4)
	if _, err := io.ReadFull(c, answer); err != nil {
		return answered, nil, errors.New("the answer is shorter than its size prefix")
	}
	return answered, answer, nil
}
