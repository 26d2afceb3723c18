package door

import "encoding/binary"

// partsMax is how many topics, partitions and tags a Produce may have. Decoded,
// each of them takes up to thirty times its bytes, and a Produce frame may be large.
const partsMax = 100_000

// produceParts counts the topics, partitions and tags of a Produce body without
// decoding it. Not ok: it is no Produce body.
func produceParts(b []byte, version int16) (parts int, ok bool) {
	c := census{b: b, flexible: version >= 9, ok: true}
	c.text(true)
	c.skip(2 + 4) // acks, timeout
	for topics := c.count(); topics > 0 && c.ok; topics-- {
		if version >= 13 {
			c.skip(16) // topic id
		} else {
			c.text(false)
		}
		for partitions := c.count(); partitions > 0 && c.ok; partitions-- {
			c.skip(4)
			c.bytes()
			c.tags()
		}
		c.tags()
	}
	c.tags()
	return c.parts, c.ok
}

// census reads over a body and counts what decoding it would allocate.
type census struct {
	b        []byte
	flexible bool
	ok       bool
	parts    int
}

func (c *census) skip(n int64) {
	if n < 0 || n > int64(len(c.b)) {
		c.ok, c.b = false, nil
		return
	}
	c.b = c.b[n:]
}

func (c *census) uint32() int64 {
	if len(c.b) < 4 {
		c.ok = false
		return 0
	}
	v := int64(int32(binary.BigEndian.Uint32(c.b)))
	c.b = c.b[4:]
	return v
}

// compact reads a compact length; null is -1, as in the older encoding.
func (c *census) compact() int64 {
	v, rest, ok := uvarint(c.b)
	if !ok {
		c.ok = false
		return 0
	}
	c.b = rest
	return int64(int32(v)) - 1
}

func (c *census) text(nullable bool) {
	n := int64(-1)
	switch {
	case c.flexible:
		n = c.compact()
	case len(c.b) < 2:
		c.ok = false
		return
	default:
		n = int64(int16(binary.BigEndian.Uint16(c.b)))
		c.b = c.b[2:]
	}
	if n < 0 {
		c.ok = c.ok && nullable
		return
	}
	c.skip(n)
}

func (c *census) bytes() {
	n := int64(0)
	if c.flexible {
		n = c.compact()
	} else {
		n = c.uint32()
	}
	if n > 0 {
		c.skip(n)
	}
}

func (c *census) count() int64 {
	n := int64(0)
	if c.flexible {
		n = c.compact()
	} else {
		n = c.uint32()
	}
	if n < 0 || n > int64(len(c.b)) {
		c.ok = false
		return 0
	}
	c.parts += int(n)
	return n
}

func (c *census) tags() {
	if !c.flexible || !c.ok {
		return
	}
	n, rest, ok := uvarint(c.b)
	if !ok || int64(n) > int64(len(c.b)) {
		c.ok = false
		return
	}
	c.parts += int(n)
	if c.b, c.ok = skipTagsOf(n, rest); !c.ok {
		c.b = nil
	}
}
