package broker

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/journal"
	"github.com/orrery-log/orrery/core/record"
)

var golden = flag.Bool("golden", false, "rewrite the golden scripts' effects")

// TestScripts runs the scripts under testdata through the real Step: a line is
// a command, the indented lines below it are the effects that it had. `make
// golden` rewrites them; a reviewer reads the difference.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			got := runScript(t, string(text))
			if *golden {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			require.Equal(t, string(text), got, "run make golden and read the difference")
		})
	}
}

func runScript(t *testing.T, text string) string {
	s := newScript(t)
	var out strings.Builder
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if strings.HasPrefix(line, "    ") {
			continue // an effect of an earlier run
		}
		out.WriteString(line + "\n")
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			for _, effect := range s.run(strings.Fields(line)) {
				out.WriteString("    " + effect + "\n")
			}
		}
	}
	return out.String()
}

// script is a broker and what its commands refer to.
type script struct {
	t     *testing.T
	b     *Broker
	now   env.Now
	n     map[env.ConnID]uint64
	files map[env.SegmentID][]byte
	reads map[env.ReadID]env.Read
	names []env.SegmentID // segments as the script counts them
}

func newScript(t *testing.T) *script {
	s := &script{t: t, n: map[env.ConnID]uint64{}, files: map[env.SegmentID][]byte{}, reads: map[env.ReadID]env.Read{}}
	s.now = env.Now{Mono: env.Second, Wall: 1_000_000 * env.Second}
	lim := env.DefaultLimits()
	lim.StoreBytes = 400
	s.b = New(env.Config{NodeID: 1, ClusterID: "golden", Seed: 7, Limits: lim,
		Advertised: []env.Endpoint{{Listener: "PLAINTEXT", Host: "localhost", Port: 9092}}}, s.now)
	return s
}

// run makes one command's event, steps, and prints the effects.
func (s *script) run(words []string) []string {
	var out env.Outbox
	s.b.Step(s.now, s.event(words), &out)
	s.b.CheckInvariants()
	return s.effects(&out)
}

func (s *script) event(w []string) env.Event {
	number := func(i int) int64 {
		v, err := strconv.ParseInt(w[i], 10, 64)
		require.NoError(s.t, err, "%v", w)
		return v
	}
	switch w[0] {
	case "survived":
		return env.Survived{Last: true}
	case "opened":
		return env.Opened{Conn: env.ConnID(number(1)), Listener: "PLAINTEXT"}
	case "hangup":
		return env.Hangup{Conn: env.ConnID(number(1))}
	case "sent":
		return env.Sent{Conn: env.ConnID(number(1)), N: uint64(number(2))}
	case "journaled":
		return env.Journaled{Written: env.Seq(number(1)), Synced: env.Seq(number(2))}
	case "written", "stored":
		id := s.names[number(1)-1]
		ev := env.Stored{Segment: id, Written: int64(len(s.files[id]))}
		if w[0] == "stored" {
			ev.Synced = ev.Written
		}
		return ev
	case "loaded":
		r := s.reads[env.ReadID(number(1))]
		file := s.files[r.Segment]
		return env.Loaded{Read: r.Read, Data: file[r.At:min(int64(len(file)), r.At+int64(r.MaxBytes))]}
	case "after":
		s.now.Mono += env.Time(number(1)) * env.Millisecond
		s.now.Wall += env.Time(number(1)) * env.Millisecond
		return env.Tick{}
	default:
		return s.request(w)
	}
}

// request is `CONN create TOPIC`, `CONN produce TOPIC ACKS VALUE…`, `CONN fetch TOPIC FROM WAIT MAX`.
func (s *script) request(w []string) env.Event {
	id, err := strconv.Atoi(w[0])
	require.NoError(s.t, err, "unknown command %v", w)
	conn := env.ConnID(id)
	s.n[conn]++
	r := env.Request{Conn: conn, N: s.n[conn], Size: 100}
	number := func(i int) int32 {
		v, err := strconv.ParseInt(w[i], 10, 32)
		require.NoError(s.t, err, "%v", w)
		return int32(v)
	}
	switch w[1] {
	case "create":
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version = 7
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = w[2], 1, 1
		req.Topics = append(req.Topics, topic)
		r.Body = req
	case "produce":
		req := kmsg.NewPtrProduceRequest()
		req.Version, req.Acks, req.TimeoutMillis = 9, int16(number(3)), 1000
		topic, p := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
		topic.Topic = w[2]
		var records []record.Record
		for _, v := range w[4:] {
			records = append(records, record.Record{Time: s.now.WallMillis(), Value: []byte(v)})
		}
		p.Records = record.Build(record.NoProducer(), records)
		r.Size = len(p.Records)
		r.Batches = []env.BatchInfo{{Count: int32(len(records)), FirstTime: s.now.WallMillis(), MinTime: s.now.WallMillis(), MaxTime: s.now.WallMillis()}}
		topic.Partitions = append(topic.Partitions, p)
		req.Topics = append(req.Topics, topic)
		r.Body = req
	case "fetch":
		req := kmsg.NewPtrFetchRequest()
		req.Version, req.MinBytes, req.MaxWaitMillis, req.MaxBytes, req.SessionEpoch = 12, 1, number(4), 1<<20, -1
		topic, p := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
		topic.Topic, p.FetchOffset, p.PartitionMaxBytes = w[2], int64(number(3)), number(5)
		topic.Partitions = append(topic.Partitions, p)
		req.Topics = append(req.Topics, topic)
		r.Body = req
	default:
		r.Body = s.adminRequest(w) // see golden_admin_test.go
	}
	return r
}

func (s *script) effects(out *env.Outbox) []string {
	var list []string
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for _, e := range out.Journal {
		kind, _, ok := journal.Parse(e.Header)
		require.True(s.t, ok)
		say("journal %d %v of %s, %d bytes%s", e.Seq, kind, s.log(e.Log), len(e.Payload), map[bool]string{true: ", sync"}[e.Sync])
	}
	for _, c := range out.Cuts {
		say("cut before %d", c)
	}
	for _, st := range out.Stores {
		var data []byte
		for _, d := range st.Data {
			data = append(data, d...)
		}
		require.Equal(s.t, st.At, int64(len(s.files[st.Segment])), "bytes lie back to back")
		s.files[st.Segment] = append(s.files[st.Segment], data...)
		say("store segment %d of %s at %d, %d bytes%s", s.name(st.Segment), s.log(st.Segment.Log()), st.At, len(data), map[bool]string{true: ", seal"}[st.Seal])
	}
	for _, r := range out.Reads {
		s.reads[r.Read] = r
		say("read %d of segment %d at %d, at most %d bytes", r.Read, s.name(r.Segment), r.At, r.MaxBytes)
	}
	for _, d := range out.Drops {
		say("drop segment %d", s.name(d))
	}
	for _, n := range out.Notes {
		if n.Kind == env.Ready {
			say("ready")
		}
	}
	for _, r := range out.Replies {
		say("reply %d to connection %d: %s", r.N, r.Conn, s.response(r))
	}
	if out.More {
		say("more")
	}
	return list
}

func (s *script) log(id env.LogID) string {
	if id == metadataLog() {
		return "metadata"
	}
	if t := s.b.image.TopicByID(id.Topic); t != nil {
		return fmt.Sprintf("%s-%d", t.Name, id.Partition)
	}
	return fmt.Sprintf("%x-%d", id.Topic, id.Partition)
}

func (s *script) name(id env.SegmentID) int {
	for i := range s.names {
		if s.names[i] == id {
			return i + 1
		}
	}
	s.names = append(s.names, id)
	return len(s.names)
}

func (s *script) response(r env.Reply) string {
	switch body := r.Body.(type) {
	case nil:
		return map[env.ReplyKind]string{env.Silent: "silent", env.Close: "close"}[r.Kind]
	case *kmsg.CreateTopicsResponse:
		return fmt.Sprintf("create %s error %d", body.Topics[0].Topic, body.Topics[0].ErrorCode)
	case *kmsg.ProduceResponse:
		p := body.Topics[0].Partitions[0]
		return fmt.Sprintf("produce error %d, base offset %d", p.ErrorCode, p.BaseOffset)
	case *kmsg.FetchResponse:
		p := body.Topics[0].Partitions[0]
		return fmt.Sprintf("fetch error %d, watermark %d, %s", p.ErrorCode, p.HighWatermark, values(s.t, p.RecordBatches))
	default:
		return s.adminResponse(body)
	}
}

// values prints the offsets and values of whole batches.
func values(t *testing.T, data []byte) string {
	list := []string{}
	for len(data) > 0 {
		b, rest, ok := record.Next(data)
		require.True(t, ok, "whole batches only")
		records, ok := record.Parse(b, b.Records())
		require.True(t, ok)
		for _, r := range records {
			text := string(r.Value)
			if len(text) > 20 {
				text = fmt.Sprintf("%c×%d", text[0], len(text))
			}
			list = append(list, fmt.Sprintf("%d:%s", r.Offset, text))
		}
		data = rest
	}
	return "[" + strings.Join(list, " ") + "]"
}
