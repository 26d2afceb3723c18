package disk

import (
	"reflect"
	"unsafe"

	"github.com/tidwall/wal"
)

// The library keeps the bytes of its last file in memory, in a slice that begins
// empty with each file and grows by append: it allocates and copies three to six
// bytes for each byte written, which is most of what it costs. tails lends it a
// buffer of the right size instead, for each new file the one before the last.
//
// For that it reaches into a private field. Where the field is not what it was in
// v1.2.1 nothing is lent, and nothing but speed is lost; a test tells.
type tails struct {
	buffers [2][]byte // taken in turns: the library may still read the last file's
	turn    int
}

// lend gives the buffer for the log's last file, which must be empty. slack is
// what is written beyond the size at which the library rolls.
func (t *tails) lend(log *wal.Log, size, slack int64) bool {
	ebuf := tailBuffer(log)
	if ebuf == nil || len(*ebuf) != 0 {
		return false
	}
	b := &t.buffers[t.turn]
	if *b == nil {
		*b = make([]byte, 0, size+slack)
	}
	t.turn = 1 - t.turn
	*ebuf = (*b)[:0]
	return true
}

// tailBuffer finds log.segments[last].ebuf; nil: the library is not as it was.
func tailBuffer(log *wal.Log) *[]byte {
	list := reflect.ValueOf(log).Elem().FieldByName("segments")
	if !list.IsValid() || list.Kind() != reflect.Slice || list.Len() == 0 {
		return nil
	}
	last := list.Index(list.Len() - 1)
	if last.Kind() != reflect.Pointer || last.Elem().Kind() != reflect.Struct {
		return nil
	}
	field := last.Elem().FieldByName("ebuf")
	if !field.IsValid() || field.Type() != reflect.TypeFor[[]byte]() {
		return nil
	}
	return (*[]byte)(unsafe.Pointer(field.UnsafeAddr()))
}
