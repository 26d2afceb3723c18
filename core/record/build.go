package record

import "encoding/binary"

// Record is one record to be built or just read. Nil Key or Value is Kafka's null.
type Record struct {
	Offset  int64 // when read
	Time    int64 // ms
	Key     []byte
	Value   []byte
	Headers []Header
}

// Header is one record header.
type Header struct {
	Key   string
	Value []byte
}

// Spec is what a new batch says beside its records. Its zero value has no
// producer; see NoProducer.
type Spec struct {
	Base          int64
	Epoch         int32
	ProducerID    int64
	ProducerEpoch int16
	Sequence      int32
	Transactional bool
	Control       bool
}

// NoProducer is the Spec of a batch without an idempotent producer.
func NoProducer() Spec { return Spec{Epoch: -1, ProducerID: -1, ProducerEpoch: -1, Sequence: -1} }

// Build makes an uncompressed batch of at least one record.
func Build(s Spec, records []Record) Batch {
	if len(records) == 0 {
		panic("record: a batch without records")
	}
	b := make([]byte, HeaderSize, HeaderSize+64*len(records))
	first, last := records[0].Time, records[0].Time
	for i := range records {
		b = appendRecord(b, &records[i], int64(i), records[i].Time-first)
		last = max(last, records[i].Time)
	}
	attributes := uint16(0)
	if s.Transactional {
		attributes |= attrTransactional
	}
	if s.Control {
		attributes |= attrControl
	}
	be := binary.BigEndian
	be.PutUint64(b[0:], uint64(s.Base))
	be.PutUint32(b[8:], uint32(len(b)-12))
	be.PutUint32(b[12:], uint32(s.Epoch))
	b[16] = 2
	be.PutUint16(b[21:], attributes)
	be.PutUint32(b[23:], uint32(len(records)-1))
	be.PutUint64(b[27:], uint64(first))
	be.PutUint64(b[35:], uint64(last))
	be.PutUint64(b[43:], uint64(s.ProducerID))
	be.PutUint16(b[51:], uint16(s.ProducerEpoch))
	be.PutUint32(b[53:], uint32(s.Sequence))
	be.PutUint32(b[57:], uint32(len(records)))
	Batch(b).Seal()
	return b
}

func appendRecord(b []byte, r *Record, delta, time int64) []byte {
	body := recordBodySize(r, delta, time)
	b = binary.AppendVarint(b, int64(body))
	b = append(b, 0) // attributes: none are defined
	b = binary.AppendVarint(b, time)
	b = binary.AppendVarint(b, delta)
	b = appendBytes(b, r.Key)
	b = appendBytes(b, r.Value)
	b = binary.AppendVarint(b, int64(len(r.Headers)))
	for _, h := range r.Headers {
		b = binary.AppendVarint(b, int64(len(h.Key)))
		b = append(b, h.Key...)
		b = appendBytes(b, h.Value)
	}
	return b
}

func recordBodySize(r *Record, delta, time int64) int {
	n := 1 + varintSize(time) + varintSize(delta) + bytesSize(r.Key) + bytesSize(r.Value) + varintSize(int64(len(r.Headers)))
	for _, h := range r.Headers {
		n += varintSize(int64(len(h.Key))) + len(h.Key) + bytesSize(h.Value)
	}
	return n
}

func appendBytes(b, v []byte) []byte {
	if v == nil {
		return binary.AppendVarint(b, -1)
	}
	return append(binary.AppendVarint(b, int64(len(v))), v...)
}

func bytesSize(v []byte) int {
	if v == nil {
		return 1
	}
	return varintSize(int64(len(v))) + len(v)
}

func varintSize(v int64) int {
	u := uint64(v<<1) ^ uint64(v>>63)
	n := 1
	for ; u >= 0x80; u >>= 7 {
		n++
	}
	return n
}

// Parse reads the records of an uncompressed batch, or of one whose records
// were decompressed to data. Keys and values alias data. Not ok: data is not
// what the header says.
func Parse(b Batch, data []byte) ([]Record, bool) {
	n := b.Count()
	if n < 0 || int64(n) > int64(len(data)) {
		return nil, false
	}
	records := make([]Record, 0, n)
	for i := int32(0); i < n; i++ {
		var r Record
		var ok bool
		if r, data, ok = parseRecord(b, data); !ok {
			return nil, false
		}
		records = append(records, r)
	}
	return records, len(data) == 0
}

func parseRecord(b Batch, data []byte) (r Record, rest []byte, ok bool) {
	size, k := binary.Varint(data)
	if k <= 0 || size < 0 || size > int64(len(data)-k) {
		return r, nil, false
	}
	body, rest := data[k:int64(k)+size], data[int64(k)+size:]
	p := cursor{data: body, ok: len(body) > 0}
	p.skip(1)
	r.Time = b.FirstTimestamp() + p.varint()
	if b.LogAppendTime() {
		r.Time = b.MaxTimestamp()
	}
	r.Offset = b.BaseOffset() + p.varint()
	r.Key = p.bytes()
	r.Value = p.bytes()
	n := p.varint()
	if n < 0 || n > int64(len(p.data)) {
		return r, nil, false
	}
	for ; n > 0 && p.ok; n-- {
		key := p.bytes()
		r.Headers = append(r.Headers, Header{Key: string(key), Value: p.bytes()})
	}
	return r, rest, p.ok && len(p.data) == 0
}

// cursor reads forward and remembers whether everything fitted.
type cursor struct {
	data []byte
	ok   bool
}

func (c *cursor) skip(n int) {
	if n > len(c.data) {
		c.ok, c.data = false, nil
		return
	}
	c.data = c.data[n:]
}

func (c *cursor) varint() int64 {
	v, k := binary.Varint(c.data)
	if k <= 0 {
		c.ok, c.data = false, nil
		return 0
	}
	c.data = c.data[k:]
	return v
}

func (c *cursor) bytes() []byte {
	n := c.varint()
	if n < 0 {
		c.ok = c.ok && n == -1
		return nil
	}
	if n > int64(len(c.data)) {
		c.ok, c.data = false, nil
		return nil
	}
	v := c.data[:n:n]
	c.data = c.data[n:]
	return v
}
