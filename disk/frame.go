package disk

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/orrery-log/orrery/core/env"
)

// A frame is what the journal library calls an entry: up to about a MiB of the
// core's entries, written with one call. The library keeps no checksums and takes
// zeros for empty entries, so a frame says all that is needed to tell a sound
// frame from anything else, and a torn tail from damage:
//
//	 0 magic u32 | 4 journal u64 | 12 size u32, of the whole frame | 16 index u64, the library's | 24 first Seq u64
//	32 synced u64, the highest Seq on the medium when this was written | 40 cut u64, valid then
//	48 count u32, of entries | 52 logs u32, in the list | 56 CRC of the header of the frame before u32
//	60 count × size u32 of each entry
//	   logs × (topic 16 bytes, partition i32, first Seq − its last Seq in the frame before u32)
//	   CRC-32C u32 of all above
//	   the entries
//
// and an entry, whose Seq is not stored but enters its header's checksum:
//
//	 0 flags u8 | 1 topic 16 bytes | 17 partition i32 | 21 size of Header u32
//	25 CRC-32C of Payload u32 | 29 CRC-32C u32 of the Seq, the bytes above, and Header
//	33 Header | Payload
//
// A frame may hold no entry: then it only says how far the journal was synced and
// cut. The journal's number is drawn once for a directory, so that a search for
// the next frame behind damage can not be fooled by a record that holds a frame.
const (
	frameMagic   = 0x4f4a_f2a1
	frameFixed   = 60
	frameCRC     = 4
	logListed    = 24
	entryFixed   = 33
	frameSmall   = frameFixed + frameCRC
	flagCheck    = 1
	flagSync     = 2
	farBack      = 1<<32 - 1 // a last Seq too far back to be told
	frameSizeMax = 1<<31 - 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// lastOf is a log that a frame has entries of, and the last one's Seq.
type lastOf struct {
	log env.LogID
	seq env.Seq
}

// frameHead is what a frame says beside its entries.
type frameHead struct {
	journal uint64
	index   uint64
	first   env.Seq // Seq of the first entry, or of the next one if there is none
	synced  env.Seq
	cut     env.Seq
	before  uint32   // CRC of the header of the frame before; 0: there is none
	logs    []lastOf // logs of the frame before
}

// appendFrame appends a frame of entries to dst and returns its header's CRC.
func appendFrame(dst []byte, h frameHead, entries []env.Entry) ([]byte, uint32) {
	be := binary.BigEndian
	start := len(dst)
	dst = be.AppendUint32(dst, frameMagic)
	dst = be.AppendUint64(dst, h.journal)
	dst = be.AppendUint32(dst, 0)
	dst = be.AppendUint64(dst, h.index)
	dst = be.AppendUint64(dst, uint64(h.first))
	dst = be.AppendUint64(dst, uint64(h.synced))
	dst = be.AppendUint64(dst, uint64(h.cut))
	dst = be.AppendUint32(dst, uint32(len(entries)))
	dst = be.AppendUint32(dst, uint32(len(h.logs)))
	dst = be.AppendUint32(dst, h.before)
	size := frameSmall + 4*len(entries) + logListed*len(h.logs)
	for i := range entries {
		n := entryFixed + len(entries[i].Header) + len(entries[i].Payload)
		dst = be.AppendUint32(dst, uint32(n))
		size += n
	}
	for _, l := range h.logs {
		dst = append(dst, l.log.Topic[:]...)
		dst = be.AppendUint32(dst, uint32(l.log.Partition))
		dst = be.AppendUint32(dst, uint32(min(uint64(h.first-l.seq), farBack)))
	}
	be.PutUint32(dst[start+12:], uint32(size))
	crc := crc32.Checksum(dst[start:], castagnoli)
	dst = be.AppendUint32(dst, crc)
	for i := range entries {
		dst = appendEntry(dst, &entries[i])
	}
	return dst, crc
}

func appendEntry(dst []byte, e *env.Entry) []byte {
	be := binary.BigEndian
	start := len(dst)
	flags := byte(0)
	if e.Checkpoint {
		flags |= flagCheck
	}
	if e.Sync {
		flags |= flagSync
	}
	dst = append(dst, flags)
	dst = append(dst, e.Log.Topic[:]...)
	dst = be.AppendUint32(dst, uint32(e.Log.Partition))
	dst = be.AppendUint32(dst, uint32(len(e.Header)))
	dst = be.AppendUint32(dst, crc32.Checksum(e.Payload, castagnoli))
	dst = be.AppendUint32(dst, entryCRC(e.Seq, dst[start:], e.Header))
	dst = append(dst, e.Header...)
	return append(dst, e.Payload...)
}

func entryCRC(seq env.Seq, fixed, header []byte) uint32 {
	var s [8]byte
	binary.BigEndian.PutUint64(s[:], uint64(seq))
	crc := crc32.Update(0, castagnoli, s[:])
	crc = crc32.Update(crc, castagnoli, fixed)
	return crc32.Update(crc, castagnoli, header)
}

// frame is a frame found in a file. Its header's checksum fitted; its entries
// are checked one by one, and the file may end before they do.
type frame struct {
	frameHead
	size  int    // as the header says, in bytes
	head  int    // bytes before the entries
	crc   uint32 // of the header
	count int
	sizes []byte // count × u32
	body  []byte // the entries, as far as they are there
}

// last is the Seq of the last entry; the Seq before first if there is none.
func (f *frame) last() env.Seq { return f.first + env.Seq(f.count) - 1 }

// parseFrame reads the frame that data begins with. Not ok: none does.
func parseFrame(data []byte) (f frame, ok bool) {
	be := binary.BigEndian
	if len(data) < frameSmall || be.Uint32(data) != frameMagic {
		return f, false
	}
	size, count, logs := int64(be.Uint32(data[12:])), int64(be.Uint32(data[48:])), int64(be.Uint32(data[52:]))
	head := frameFixed + 4*count + logListed*logs
	if head+frameCRC > size || head+frameCRC > int64(len(data)) || size > frameSizeMax {
		return f, false
	}
	f.crc = crc32.Checksum(data[:head], castagnoli)
	if f.crc != be.Uint32(data[head:]) {
		return f, false
	}
	f.size, f.head, f.count = int(size), int(head)+frameCRC, int(count)
	f.journal, f.index = be.Uint64(data[4:]), be.Uint64(data[16:])
	f.first, f.synced, f.cut = env.Seq(be.Uint64(data[24:])), env.Seq(be.Uint64(data[32:])), env.Seq(be.Uint64(data[40:]))
	f.before = be.Uint32(data[56:])
	f.sizes = data[frameFixed : frameFixed+4*count]
	f.body = data[head+frameCRC : min(size, int64(len(data)))]
	for at := frameFixed + 4*count; at < head; at += logListed {
		l := lastOf{log: env.LogID{Topic: [16]byte(data[at:]), Partition: int32(be.Uint32(data[at+16:]))}}
		if back := be.Uint32(data[at+20:]); back != farBack {
			l.seq = f.first - env.Seq(back)
		}
		f.logs = append(f.logs, l)
	}
	sum := head + frameCRC
	for i := range f.count {
		n := int64(be.Uint32(f.sizes[4*i:]))
		if n < entryFixed {
			return f, false
		}
		sum += n
	}
	// A header whose sizes do not add up was never written by us, whatever its checksum.
	return f, sum == size && f.first > 0
}

// each calls visit for every entry of f in order. A lost entry has only its Seq:
// its header's checksum failed, or the file ended before it did. Header and
// Payload alias the file's bytes; at is the entry's place in the frame.
func (f *frame) each(visit func(at int, e env.Entry, lost bool)) {
	rest, at := f.body, f.head
	for i := range f.count {
		n := int(binary.BigEndian.Uint32(f.sizes[4*i:]))
		cut := rest[:min(n, len(rest))]
		rest = rest[len(cut):]
		e := env.Entry{Seq: f.first + env.Seq(i)}
		lost := !parseEntry(cut, n, &e)
		visit(at, e, lost)
		at += n
	}
}

// parseEntry reads an entry of n bytes from data, which may be shorter.
func parseEntry(data []byte, n int, e *env.Entry) bool {
	be := binary.BigEndian
	if len(data) < entryFixed {
		return false
	}
	header := int64(be.Uint32(data[21:]))
	if end := entryFixed + header; end > int64(n) || end > int64(len(data)) {
		return false
	}
	end := entryFixed + int(header)
	if be.Uint32(data[29:]) != entryCRC(e.Seq, data[:29], data[entryFixed:end]) {
		return false
	}
	e.Log = env.LogID{Topic: [16]byte(data[1:]), Partition: int32(be.Uint32(data[17:]))}
	e.Checkpoint, e.Sync = data[0]&flagCheck != 0, data[0]&flagSync != 0
	e.Header = data[entryFixed:end:end]
	payload := data[end:]
	if len(data) < n || crc32.Checksum(payload, castagnoli) != be.Uint32(data[25:]) {
		e.Damaged = true
		return true
	}
	e.Payload = payload[:len(payload):len(payload)]
	return true
}

// logList lists the logs that a frame's entries speak of, with the last Seq of
// each, in the order of their first entry.
type logList struct {
	logs []lastOf
	at   map[env.LogID]int
}

func (l *logList) reset() {
	l.logs = l.logs[:0]
	clear(l.at)
}

func (l *logList) note(log env.LogID, seq env.Seq) {
	k, ok := l.at[log]
	if !ok {
		if l.at == nil {
			l.at = map[env.LogID]int{}
		}
		k = len(l.logs)
		l.at[log] = k
		l.logs = append(l.logs, lastOf{log: log})
	}
	l.logs[k].seq = seq
}
