package differential

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// side is one of the two brokers, and what it has named itself.
type side struct {
	name      string
	addr      string
	host      string
	port      int32
	clusterID string
	served    map[int16][2]int16 // versions by API key, as advertised
}

// run is one case in one version on one side: a connection and its memory.
type run struct {
	*side
	version  int16
	prefix   string // of the case's topics
	conn     *conn
	mu       sync.Mutex
	ids      map[[16]byte]string // topic id to name
	byName   map[string][16]byte
	epochs   map[string]int32 // leader epoch of a topic's partition 0 when it was made
	producer []int64          // producer ids in the order of their coming
	epoch    int16            // the epoch given with the latest producer id
	session  int32            // the fetch session in use
}

// meet learns a broker's cluster id and versions.
func meet(name, addr string) (*side, error) {
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(p)
	if err != nil {
		return nil, err
	}
	s := &side{name: name, addr: addr, host: host, port: int32(port), served: map[int16][2]int16{}}
	r := &run{side: s}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := r.connect(); err != nil {
		return nil, err
	}
	defer r.conn.Close()
	versions := kmsg.NewPtrApiVersionsRequest()
	resp, err := r.must(ctx, versions)
	if err != nil {
		return nil, err
	}
	for _, k := range resp.(*kmsg.ApiVersionsResponse).ApiKeys {
		s.served[k.ApiKey] = [2]int16{k.MinVersion, k.MaxVersion}
	}
	meta := kmsg.NewPtrMetadataRequest()
	meta.Version = 12
	meta.Topics = []kmsg.MetadataRequestTopic{}
	resp, err = r.must(ctx, meta)
	if err != nil {
		return nil, err
	}
	if id := resp.(*kmsg.MetadataResponse).ClusterID; id != nil {
		s.clusterID = *id
	}
	return s, r.warm(ctx)
}

// warm asks for a producer id until there is one: Apache Kafka answers
// COORDINATOR_LOAD_IN_PROGRESS while it fetches its first block of them.
func (r *run) warm(ctx context.Context) error {
	for {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version, req.TransactionTimeoutMillis = 4, 60_000
		resp, err := r.must(ctx, req)
		if err != nil || resp.(*kmsg.InitProducerIDResponse).ErrorCode == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (r *run) connect() (err error) {
	if r.conn != nil {
		r.conn.Close()
	}
	r.conn, err = dial(r.addr)
	return err
}

// must asks and wants an answer.
func (r *run) must(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	patience := 20 * time.Second
	if d, ok := ctx.Deadline(); ok {
		patience = time.Until(d)
	}
	how, answer, err := r.conn.ask(req.Key(), req.GetVersion(), req.IsFlexible(), req.AppendTo(nil), patience)
	if err != nil {
		return nil, err
	}
	if how != answered {
		return nil, fmt.Errorf("%s: %s v%d: %s instead of an answer", r.name, kmsg.NameForKey(req.Key()), req.GetVersion(), how)
	}
	return decode(req, answer)
}

func decode(req kmsg.Request, answer []byte) (kmsg.Response, error) {
	resp := req.ResponseKind()
	if resp.IsFlexible() && resp.Key() != 18 {
		if len(answer) == 0 || answer[0] != 0 {
			return nil, fmt.Errorf("the response header has no empty tag section")
		}
		answer = answer[1:]
	}
	if err := resp.ReadFrom(answer); err != nil {
		return nil, fmt.Errorf("the body can not be read: %w", err)
	}
	if again := resp.AppendTo(nil); len(again) != len(answer) {
		return nil, fmt.Errorf("the body has %d bytes, written again it has %d: %s", len(answer), len(again), hex.EncodeToString(answer[:min(len(answer), 64)]))
	}
	return resp, nil
}

// topic is a topic that a case finds made: its name is prefixed by run.topic.
type topic struct {
	name       string
	partitions int32
	configs    []string // name, value, name, value …
}

// topic is the full name of the case's topic; one that begins with = is as it stands.
func (r *run) topic(name string) string {
	if len(name) > 0 && name[0] == '=' {
		return name[1:]
	}
	return r.prefix + name
}

// id is the topic id that the broker gave the topic, or zeros.
func (r *run) id(name string) [16]byte { return r.byName[r.topic(name)] }

// leaderEpoch is the topic's first leader epoch here.
func (r *run) leaderEpoch(name string) int32 { return r.epochs[r.topic(name)] }

func (r *run) learn(name string, id [16]byte) {
	if id == [16]byte{} || name == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids[id] = name
	r.byName[name] = id
}

// make creates the topics and returns when each partition has a leader that answers.
func (r *run) make(ctx context.Context, topics []topic) error {
	if len(topics) == 0 {
		return nil
	}
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version = 7
	create.TimeoutMillis = 30_000
	for _, t := range topics {
		ct := kmsg.NewCreateTopicsRequestTopic()
		ct.Topic = r.topic(t.name)
		ct.NumPartitions = max(t.partitions, 1)
		ct.ReplicationFactor = 1
		for i := 0; i < len(t.configs); i += 2 {
			c := kmsg.NewCreateTopicsRequestTopicConfig()
			c.Name, c.Value = t.configs[i], kmsg.StringPtr(t.configs[i+1])
			ct.Configs = append(ct.Configs, c)
		}
		create.Topics = append(create.Topics, ct)
	}
	resp, err := r.must(ctx, create)
	if err != nil {
		return err
	}
	for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
		if t.ErrorCode != 0 {
			return fmt.Errorf("%s: creating %s: error %d", r.name, t.Topic, t.ErrorCode)
		}
		r.learn(t.Topic, t.TopicID)
	}
	return r.await(ctx, topics)
}

// await returns when every partition answers ListOffsets without an error:
// Apache Kafka answers CreateTopics before its partitions serve.
func (r *run) await(ctx context.Context, topics []topic) error {
	for {
		list := kmsg.NewPtrListOffsetsRequest()
		list.Version = 7
		for _, t := range topics {
			lt := kmsg.NewListOffsetsRequestTopic()
			lt.Topic = r.topic(t.name)
			for p := range max(t.partitions, 1) {
				lp := kmsg.NewListOffsetsRequestTopicPartition()
				lp.Partition, lp.Timestamp = p, -1
				lt.Partitions = append(lt.Partitions, lp)
			}
			list.Topics = append(list.Topics, lt)
		}
		resp, err := r.must(ctx, list)
		if err != nil {
			return err
		}
		waiting := int16(0)
		for _, t := range resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, p := range t.Partitions {
				if p.ErrorCode != 0 {
					waiting = p.ErrorCode
				} else if p.Partition == 0 {
					r.epochs[t.Topic] = max(p.LeaderEpoch, 0)
				}
			}
		}
		if waiting == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: the topic's partitions still answer error %d", r.name, waiting)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
