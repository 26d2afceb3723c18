package broker

import (
	"slices"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/jobs"
	"github.com/orrery-log/orrery/core/record"
)

// rig is a broker and a world in which nothing happens by itself: what the broker
// wants done lies here until the test does it.
type rig struct {
	t       require.TestingT
	b       *Broker
	now     env.Now
	asked   env.Seq // the last entry given to the journal
	written env.Seq
	synced  env.Seq
	files   map[env.SegmentID][]byte
	sealed  map[env.SegmentID]bool
	stored  []env.SegmentID // have a Stored to come
	reads   []env.Read
	jobs    []env.Job
	unsent  []env.Reply
	n       map[env.ConnID]uint64    // of the last request
	open    map[request]kmsg.Request // without a reply
	entries []env.Entry
	notes   []env.Note
	replies map[request]env.Reply
}

// request names one request of a connection.
type request struct {
	conn env.ConnID
	n    uint64
}

func newRig(t require.TestingT, change func(*env.Limits)) *rig {
	r := startRig(t, change, env.Survived{Last: true})
	r.settle()
	require.Equal(t, serving, r.b.phase)
	r.opened(1)
	return r
}

// startRig begins a life with what survived.
func startRig(t require.TestingT, change func(*env.Limits), pieces ...env.Survived) *rig {
	r := &rig{t: t, files: map[env.SegmentID][]byte{}, sealed: map[env.SegmentID]bool{},
		n: map[env.ConnID]uint64{}, open: map[request]kmsg.Request{}, replies: map[request]env.Reply{}}
	r.now = env.Now{Mono: env.Second, Wall: 1_000_000 * env.Second}
	lim := env.DefaultLimits()
	if change != nil {
		change(&lim)
	}
	r.b = New(env.Config{NodeID: 1, ClusterID: "rig", Seed: 7, Limits: lim,
		Advertised: []env.Endpoint{{Listener: "PLAINTEXT", Host: "localhost", Port: 9092}}}, r.now)
	for _, s := range pieces {
		r.survive(s)
	}
	return r
}

// survive hands over one piece.
func (r *rig) survive(s env.Survived) {
	for _, e := range s.Entries {
		r.asked = max(r.asked, e.Seq)
	}
	r.synced, r.written = r.asked, r.asked
	r.step(s)
}

// step steps and lays what the broker wants aside.
func (r *rig) step(ev env.Event) {
	var out env.Outbox
	r.b.Step(r.now, ev, &out)
	r.b.CheckInvariants()
	for _, e := range out.Journal {
		require.Equal(r.t, r.asked+1, e.Seq)
		r.asked = e.Seq
		r.entries = append(r.entries, e)
	}
	r.notes = append(r.notes, out.Notes...)
	for _, s := range out.Stores {
		require.EqualValues(r.t, len(r.files[s.Segment]), s.At, "bytes lie back to back")
		require.False(r.t, r.sealed[s.Segment])
		for _, d := range s.Data {
			r.files[s.Segment] = append(r.files[s.Segment], d...)
		}
		r.sealed[s.Segment] = s.Seal
		if !slices.Contains(r.stored, s.Segment) {
			r.stored = append(r.stored, s.Segment)
		}
	}
	for _, id := range out.Drops {
		require.NotContains(r.t, r.stored, id, "no Store of it is outstanding")
		for _, read := range r.reads {
			require.NotEqual(r.t, id, read.Segment, "no Read of it is outstanding")
		}
		delete(r.files, id)
	}
	r.reads, r.jobs = append(r.reads, out.Reads...), append(r.jobs, out.Jobs...)
	for _, reply := range out.Replies {
		name := request{reply.Conn, reply.N}
		require.Contains(r.t, r.open, name, "an answer that nobody waits for")
		delete(r.open, name)
		r.replies[name] = reply
		if reply.Kind == env.Body {
			r.unsent = append(r.unsent, reply)
		}
	}
}

func (r *rig) opened(conn env.ConnID) { r.step(env.Opened{Conn: conn, Listener: "PLAINTEXT"}) }

func (r *rig) hangup(conn env.ConnID) {
	r.unsent = slices.DeleteFunc(r.unsent, func(u env.Reply) bool { return u.Conn == conn })
	for n := range r.n[conn] {
		delete(r.open, request{conn, n + 1})
	}
	r.step(env.Hangup{Conn: conn})
}

// ask sends a request.
func (r *rig) ask(conn env.ConnID, body kmsg.Request) request {
	return r.askWith(env.Request{Conn: conn, Body: body, Size: 100})
}

func (r *rig) askWith(e env.Request) request {
	r.n[e.Conn]++
	e.N = r.n[e.Conn]
	name := request{e.Conn, e.N}
	r.open[name] = e.Body
	r.step(e)
	return name
}

// produce sends a batch with one value.
func (r *rig) produce(conn env.ConnID, topic string, partition int32, acks int16, value []byte) request {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 9, acks, 1000
	t, p := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	ms := r.now.WallMillis()
	t.Topic, p.Partition = topic, partition
	p.Records = record.Build(record.NoProducer(), []record.Record{{Time: ms, Value: value}})
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return r.askWith(env.Request{Conn: conn, Body: req, Size: len(p.Records), Batches: []env.BatchInfo{{Count: 1, FirstTime: ms, MinTime: ms, MaxTime: ms}}})
}

func fetchRequest(version int16, wait int32, topics ...string) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MinBytes, req.MaxWaitMillis, req.MaxBytes, req.SessionEpoch = version, 1, wait, 1<<20, -1
	for _, name := range topics {
		t, p := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
		t.Topic, p.PartitionMaxBytes = name, 1<<20
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
	}
	return req
}

// Each of these lets one thing happen.

func (r *rig) journaled(written, synced env.Seq) {
	r.written, r.synced = written, synced
	r.step(env.Journaled{Written: written, Synced: synced})
}

func (r *rig) store(i int) {
	id := r.stored[i]
	r.stored = slices.Delete(r.stored, i, i+1)
	end := int64(len(r.files[id]))
	r.step(env.Stored{Segment: id, Written: end, Synced: end})
}

func (r *rig) read(i int) {
	q := r.reads[i]
	r.reads = slices.Delete(r.reads, i, i+1)
	file := r.files[q.Segment]
	r.step(env.Loaded{Read: q.Read, Data: file[min(q.At, int64(len(file))):min(q.At+int64(q.MaxBytes), int64(len(file)))]})
}

func (r *rig) job(i int) {
	j := r.jobs[i]
	r.jobs = slices.Delete(r.jobs, i, i+1)
	r.step(jobs.Run(j))
}

func (r *rig) sent() {
	u := r.unsent[0]
	r.unsent = r.unsent[1:]
	r.step(env.Sent{Conn: u.Conn, N: u.N})
}

func (r *rig) after(span env.Time) {
	r.now.Mono += span
	r.now.Wall += span
	r.step(env.Tick{})
}

// settle lets everything happen until nothing is left to do.
func (r *rig) settle() {
	for {
		switch {
		case r.synced < r.asked:
			r.journaled(r.asked, r.asked)
		case len(r.stored) > 0:
			r.store(0)
		case len(r.reads) > 0:
			r.read(0)
		case len(r.jobs) > 0:
			r.job(0)
		case len(r.unsent) > 0:
			r.sent()
		default:
			return
		}
	}
}

// answered is the body that a request was answered with.
func answered[R kmsg.Response](r *rig, name request) R {
	reply, ok := r.replies[name]
	require.True(r.t, ok, "request %d of connection %d has no answer", name.n, name.conn)
	return reply.Body.(R)
}

// create creates a topic with this many partitions.
func (r *rig) create(name string, partitions int32, configs ...env.Property) {
	req := createRequest(7, name)
	req.Topics[0].NumPartitions = partitions
	for _, p := range configs {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = p.Name, kmsg.StringPtr(p.Value)
		req.Topics[0].Configs = append(req.Topics[0].Configs, c)
	}
	name1 := r.ask(1, req)
	r.settle()
	require.Zero(r.t, answered[*kmsg.CreateTopicsResponse](r, name1).Topics[0].ErrorCode)
}

func (r *rig) delete(name string) {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TopicNames = 5, []string{name}
	r.ask(1, req)
}
