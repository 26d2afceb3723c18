package differential

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// field is one value of an answer, with its place.
type field struct{ path, value string }

// fields flattens an answer. Elements of arrays that have a name (a topic, a
// partition) are placed by it and sorted, since Kafka's order comes from hash
// maps in most answers; the others stand by index.
func (r *run) fields(resp kmsg.Response) []field {
	w := walker{run: r, all: resp.Key() != 19}
	v := reflect.ValueOf(resp).Elem()
	w.learn(v)
	w.object("", v)
	sort.SliceStable(w.out, func(i, j int) bool { return w.out[i].path < w.out[j].path })
	return w.out
}

type walker struct {
	*run
	all bool // internal topics are not compared: which there are depends on what else was asked
	out []field
}

func (w *walker) put(path, format string, args ...any) {
	w.out = append(w.out, field{path, fmt.Sprintf(format, args...)})
}

// learn takes down what the broker named, before anything is replaced by it.
func (w *walker) learn(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			w.learn(v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct {
			for i := range v.Len() {
				w.learn(v.Index(i))
			}
		}
	case reflect.Struct:
		if id, name := v.FieldByName("TopicID"), v.FieldByName("Topic"); id.IsValid() && name.IsValid() {
			w.run.learn(text(name), id.Interface().([16]byte))
		}
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "UnknownTags" {
				w.learn(v.Field(i))
			}
		}
	}
}

func text(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	return v.String()
}

func (w *walker) object(path string, v reflect.Value) {
	t := v.Type()
	for i := range t.NumField() {
		name := t.Field(i).Name
		if name == "UnknownTags" || name == "Version" {
			continue
		}
		at := name
		if path != "" {
			at = path + "." + name
		}
		if word, ok := w.replaced(at, name, v, v.Field(i)); ok {
			w.put(at, "%s", word)
			continue
		}
		w.value(at, v.Field(i))
	}
}

func (w *walker) value(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			w.put(path, "null")
			return
		}
		w.value(path, v.Elem())
	case reflect.Struct:
		w.object(path, v)
	case reflect.Slice:
		w.array(path, v)
	case reflect.String:
		w.put(path, "%q", v.String())
	default:
		w.put(path, "%v", v.Interface())
	}
}

func (w *walker) array(path string, v reflect.Value) {
	if v.IsNil() {
		w.put(path, "null")
		return
	}
	if b, ok := v.Interface().([]byte); ok {
		w.put(path, "%s", hex.EncodeToString(b))
		return
	}
	if v.Type().Elem().Kind() != reflect.Struct {
		w.put(path, "%v", v.Interface())
		return
	}
	seen := map[string]int{}
	n := 0
	for i := range v.Len() {
		e := v.Index(i)
		label, kept := w.label(e, i)
		if !kept {
			continue
		}
		n++
		seen[label]++
		if k := seen[label]; k > 1 {
			label += "#" + strconv.Itoa(k)
		}
		w.object(path+"["+label+"]", e)
	}
	w.put(path+".length", "%d", n)
}

// named are the fields that name an element of an array, the first that is there counts.
var named = []string{"Topic", "TopicID", "Name", "ResourceName", "Partition", "ApiKey", "NodeID", "ProducerID"}

// oursAlone are settings that Apache Kafka does not have; no case compares them.
var oursAlone = map[string]bool{"durability": true, "orrery.durability": true}

// label names an element; elements that other cases made are not kept.
func (w *walker) label(e reflect.Value, i int) (string, bool) {
	for _, n := range named {
		f := e.FieldByName(n)
		if !f.IsValid() {
			continue
		}
		switch n {
		case "Topic", "ResourceName", "Name":
			name := text(f)
			if name == "" && n == "Topic" {
				if id := e.FieldByName("TopicID"); id.IsValid() {
					return w.idWord(id.Interface().([16]byte)), true
				}
			}
			return name, !w.foreign(name) && !oursAlone[name]
		case "TopicID":
			word := w.idWord(f.Interface().([16]byte))
			return word, word != "id of a topic not asked for"
		case "ApiKey":
			_, ours := served[int16(f.Int())]
			return kmsg.NameForKey(int16(f.Int())), ours
		case "ProducerID":
			return w.producerWord(f.Int()), true
		default:
			return strings.Trim(fmt.Sprint(f.Interface()), `"`), true
		}
	}
	return strconv.Itoa(i), true
}

// foreign tells a topic that the case has not named, in an answer about all topics.
func (w *walker) foreign(name string) bool {
	return (strings.HasPrefix(name, allPrefix) && !strings.HasPrefix(name, w.prefix)) || w.all && strings.HasPrefix(name, "__")
}

// allPrefix begins every topic that the harness makes.
const allPrefix = "df-"

func (w *walker) idWord(id [16]byte) string {
	if id == [16]byte{} {
		return "id zero"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if name, ok := w.ids[id]; ok {
		return "id of " + name
	}
	if id == unknownID {
		return "id unknown"
	}
	return "id of a topic not asked for"
}

func (w *walker) producerWord(id int64) string {
	if id < 0 || id >= inventedProducer {
		return strconv.FormatInt(id, 10)
	}
	for i, p := range w.producer {
		if p == id {
			return "producer " + strconv.Itoa(i)
		}
	}
	w.producer = append(w.producer, id)
	return "producer " + strconv.Itoa(len(w.producer)-1)
}

// inventedProducer begins the ids that cases invent; no broker gives such.
const inventedProducer = 1 << 40

func clock(ms int64) string {
	now := time.Now().UnixMilli()
	if ms > now-10*60_000 && ms < now+60_000 {
		return "about now"
	}
	if since := ms - firstTime; since > -3_600_000 && since < 3_600_000 {
		return fmt.Sprintf("first%+d", since)
	}
	return strconv.FormatInt(ms, 10)
}

// replaced gives the word that stands for a value the broker chose.
func (w *walker) replaced(path, name string, parent, v reflect.Value) (string, bool) {
	switch name {
	case "TopicID":
		return w.idWord(v.Interface().([16]byte)), true
	case "ClusterID":
		if got := text(v); got != "" && got == w.clusterID {
			return "the cluster's", true
		}
	case "Host":
		if v.String() == w.host || v.String() == "localhost" && w.host == "127.0.0.1" {
			return "the host", true
		}
	case "Port":
		if int32(v.Int()) == w.port {
			return "the port", true
		}
	case "LogDir", "Dir":
		if v.Kind() == reflect.String && strings.HasPrefix(v.String(), "/") {
			return "an absolute path", true
		}
	case "TotalBytes", "UsableBytes":
		if v.Int() > 0 {
			return "some", true
		}
	case "ErrorMessage":
		code := parent.FieldByName("ErrorCode")
		if !code.IsValid() || code.Int() != 0 { // a record of a refused batch has no code of its own
			return "for people", true
		}
	case "Documentation":
		if text(v) != "" {
			return "some text", true
		}
	case "FinalizedFeaturesEpoch":
		if v.Int() >= 0 {
			return "an epoch", true
		}
	case "SessionID":
		if v.Kind() == reflect.Int32 && v.Int() != 0 {
			return "a session", true
		}
	case "ProducerID":
		return w.producerWord(v.Int()), true
	case "LogAppendTime", "LastTimestamp", "Timestamp":
		return clock(v.Int()), true
	case "LeaderEpoch", "CurrentLeaderEpoch":
		return w.epochWord(int32(v.Int())), true
	case "RecordBatches":
		w.batches(path, v.Bytes(), v.IsNil())
		return "in pieces", true
	}
	return "", false
}

// epochWord tells a leader epoch as the distance from the first one here.
func (w *walker) epochWord(e int32) string {
	base, any := int32(0), false
	for _, b := range w.epochs {
		base, any = max(base, b), true
	}
	if e < 0 || !any {
		return strconv.Itoa(int(e))
	}
	return fmt.Sprintf("first%+d", e-base)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// batches flattens the record batches of a Fetch.
func (w *walker) batches(path string, b []byte, null bool) {
	if null {
		w.put(path+".bytes", "null")
		return
	}
	for n := 0; ; n++ {
		at := fmt.Sprintf("%s[%d]", path, n)
		if len(b) == 0 {
			w.put(path+".length", "%d", n)
			return
		}
		if len(b) < 61 || int(binary.BigEndian.Uint32(b[8:]))+12 > len(b) {
			w.put(at, "the beginning of a batch")
			return
		}
		size := int(binary.BigEndian.Uint32(b[8:])) + 12
		one := b[:size]
		b = b[size:]
		var h kmsg.RecordBatch
		if err := h.ReadFrom(one); err != nil {
			w.put(at, "unreadable: %v", err)
			return
		}
		w.put(at+".FirstOffset", "%d", h.FirstOffset)
		w.put(at+".PartitionLeaderEpoch", "%s", w.epochWord(h.PartitionLeaderEpoch))
		w.put(at+".Magic", "%d", h.Magic)
		w.put(at+".Attributes", "%#x", h.Attributes)
		w.put(at+".LastOffsetDelta", "%d", h.LastOffsetDelta)
		w.put(at+".FirstTimestamp", "%s", clock(h.FirstTimestamp))
		w.put(at+".MaxTimestamp", "%s", clock(h.MaxTimestamp))
		w.put(at+".ProducerID", "%s", w.producerWord(h.ProducerID))
		w.put(at+".ProducerEpoch", "%d", h.ProducerEpoch)
		w.put(at+".FirstSequence", "%d", h.FirstSequence)
		w.put(at+".NumRecords", "%d", h.NumRecords)
		w.put(at+".CRC", "%s", map[bool]string{true: "fits", false: "does not fit"}[uint32(h.CRC) == crc32.Checksum(one[21:], castagnoli)])
		w.records(at, &h)
	}
}

// records compares uncompressed records as bytes and compressed ones decompressed.
func (w *walker) records(at string, h *kmsg.RecordBatch) {
	plain, err := decompress(h.Attributes&7, h.Records)
	if err != nil {
		w.put(at+".Records", "as sent %s", hex.EncodeToString(h.Records[:min(64, len(h.Records))]))
		return
	}
	if len(plain) > 256 {
		w.put(at+".Records", "%d bytes with checksum %08x", len(plain), crc32.ChecksumIEEE(plain))
		return
	}
	w.put(at+".Records", "%s", hex.EncodeToString(plain))
}
