package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/record"
)

// O6: what a restart rebuilds equals what the live broker holds. Both are asked
// the same questions, through requests, so that nothing of the broker's inside
// has to be known here.

// portrait is what a broker answers about all that it keeps.
type portrait struct {
	topics []string // name, id, partitions, settings
	logs   []logPortrait
}

type logPortrait struct {
	name       string
	start, end int64
	bases      []int64
	sums       []uint32
	producers  []string
	rotten     bool // its bytes were changed: what is served depends on where it is read from
}

// planReplays draws the times at which a restarted copy is compared with the live broker.
func (w *world) planReplays() {
	if w.kit.Copy == nil {
		return
	}
	for i := range w.plan.Replays {
		at := env.Time(w.dice.below(drawReplay, 0, uint64(i), int64(w.plan.Length)))
		w.queue.add(at, w.compareReplay)
	}
}

func (w *world) compareReplay() {
	if !w.up || !w.ready || w.acting || w.pausedTill > w.now || len(w.disk.journal.rotten)+len(w.disk.journal.lost) > 0 {
		return
	}
	live, err := w.forkLive()
	if err != nil {
		w.fail(notPlain, "a broker does not go through an encoder: %v", err)
	}
	cfg := w.config(&roller{d: w.dice, p: drawReplay, entity: w.steps})
	again := live.restarted(cfg)
	if !again.ready {
		w.fail(notReplay, "a copy that was restarted does not become ready; %d pieces are not asked for, WakeAt %d, now %d, notes %v", len(again.pieces), again.m.WakeAt(), again.now.Mono, again.notes)
	}
	a, b := live.portrait(w), again.portrait(w)
	if diff := w.compare(a, b); diff != "" {
		w.fail(notReplay, "live and restarted differ: %s", diff)
	}
	w.stats.Replays++
}

// ask puts a request to a fork; nil: it has no answer yet, which on such a disk
// means that there will be none.
func (f *fork) ask(req kmsg.Request) kmsg.Response {
	if f.asked == 0 {
		f.events = append(f.events, env.Opened{Conn: forkConn, Listener: "PLAINTEXT", Peer: "fork", Principal: "User:ANONYMOUS"})
	}
	f.asked++
	f.events = append(f.events, env.Request{Conn: forkConn, N: f.asked, ClientID: "fork", Body: req, Size: 200})
	f.run()
	r, ok := f.answers[f.asked]
	if !ok || r.Kind != env.Body {
		return nil
	}
	f.events = append(f.events, env.Sent{Conn: forkConn, N: f.asked})
	return r.Body
}

func (f *fork) portrait(w *world) portrait {
	var p portrait
	req := kmsg.NewPtrMetadataRequest()
	req.SetVersion(12)
	req.AllowAutoTopicCreation = false
	res, ok := f.ask(req).(*kmsg.MetadataResponse)
	if !ok {
		w.fail(notReplay, "a fork does not answer Metadata")
	}
	slices.SortFunc(res.Topics, func(a, b kmsg.MetadataResponseTopic) int { return strings.Compare(*a.Topic, *b.Topic) })
	for i := range res.Topics {
		t := &res.Topics[i]
		p.topics = append(p.topics, fmt.Sprintf("%s %x %d %s", *t.Topic, t.TopicID, len(t.Partitions), f.settings(*t.Topic)))
		for k := range t.Partitions {
			p.logs = append(p.logs, f.log(w, *t.Topic, t.TopicID, int32(k)))
		}
	}
	return p
}

func (f *fork) settings(topic string) string {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.SetVersion(4)
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	req.Resources = append(req.Resources, r)
	res, ok := f.ask(req).(*kmsg.DescribeConfigsResponse)
	if !ok {
		return "?"
	}
	var out []string
	for i := range res.Resources[0].Configs {
		c := &res.Resources[0].Configs[i]
		if c.Value != nil && c.Source == kmsg.ConfigSourceDynamicTopicConfig {
			out = append(out, c.Name+"="+*c.Value)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

func (f *fork) log(w *world, topic string, id [16]byte, partition int32) logPortrait {
	p := logPortrait{name: topic + "-" + utoa(uint64(partition)), start: f.offset(topic, partition, -2), end: f.offset(topic, partition, -1)}
	if l := w.truth.log(id, partition); l != nil && l.rotten {
		p.rotten = true
		return p
	}
	for at := p.start; at < p.end; {
		data := f.read(topic, partition, at)
		b, rest, ok := record.Next(data)
		if !ok {
			w.fail(notReplay, "%s: the %s broker does not answer a Fetch from %d, the log has %d..%d: %s", p.name, f.name, at, p.start, p.end, f.why)
		}
		for ; ok; b, rest, ok = record.Next(rest) {
			p.bases = append(p.bases, b.BaseOffset())
			p.sums = append(p.sums, record.CRC(b))
			at = b.End()
		}
	}
	req := kmsg.NewPtrDescribeProducersRequest()
	t := kmsg.NewDescribeProducersRequestTopic()
	t.Topic, t.Partitions = topic, []int32{partition}
	req.Topics = append(req.Topics, t)
	if res, ok := f.ask(req).(*kmsg.DescribeProducersResponse); ok {
		for _, a := range res.Topics[0].Partitions[0].ActiveProducers {
			p.producers = append(p.producers, fmt.Sprintf("%d/%d sequence %d time %d", a.ProducerID, a.ProducerEpoch, a.LastSequence, a.LastTimestamp))
		}
		slices.Sort(p.producers)
	}
	return p
}

func (f *fork) offset(topic string, partition int32, which int64) int64 {
	req := kmsg.NewPtrListOffsetsRequest()
	req.SetVersion(5)
	req.ReplicaID = -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.Timestamp = partition, -1, which
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	res, ok := f.ask(req).(*kmsg.ListOffsetsResponse)
	if !ok {
		return -1
	}
	return res.Topics[0].Partitions[0].Offset
}

func (f *fork) read(topic string, partition int32, at int64) []byte {
	req := kmsg.NewPtrFetchRequest()
	req.SetVersion(11)
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 0, 0, 1<<20, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic = topic
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.CurrentLeaderEpoch, p.PartitionMaxBytes = partition, at, -1, 1<<20
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	res, ok := f.ask(req).(*kmsg.FetchResponse)
	if !ok || len(res.Topics) == 0 {
		f.why = "no answer"
		return nil
	}
	f.why = fmt.Sprintf("error %d, %d bytes", res.Topics[0].Partitions[0].ErrorCode, len(res.Topics[0].Partitions[0].RecordBatches))
	return res.Topics[0].Partitions[0].RecordBatches
}

// compare tells how a restarted broker differs from the live one. Only the log
// start may be further: what had expired may have gone at the start.
func (w *world) compare(a, b portrait) string {
	if x, y := strings.Join(a.topics, "; "), strings.Join(b.topics, "; "); x != y {
		return fmt.Sprintf("topics: live %s, restarted %s", x, y)
	}
	for i := range a.logs {
		x, y := &a.logs[i], &b.logs[i]
		if x.rotten {
			continue
		}
		if x.start > y.start || x.end != y.end {
			return fmt.Sprintf("%s: live %d..%d, restarted %d..%d", x.name, x.start, x.end, y.start, y.end)
		}
		from := y.start
		for len(x.bases) > 0 && x.bases[0] < from {
			x.bases, x.sums = x.bases[1:], x.sums[1:]
		}
		for len(y.bases) > 0 && y.bases[0] < from {
			y.bases, y.sums = y.bases[1:], y.sums[1:]
		}
		// The first batch may begin before the start on one side only.
		for len(y.bases) > 0 && len(x.bases) > 0 && y.bases[0] < x.bases[0] {
			y.bases, y.sums = y.bases[1:], y.sums[1:]
		}
		if !slices.Equal(x.bases, y.bases) || !slices.Equal(x.sums, y.sums) {
			return fmt.Sprintf("%s: batches: live %v, restarted %v", x.name, x.bases, y.bases)
		}
		if !slices.Equal(x.producers, y.producers) {
			return fmt.Sprintf("%s: producers: live %v, restarted %v", x.name, x.producers, y.producers)
		}
	}
	return ""
}
