package broker

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/orrery-log/orrery/core/door"
	"github.com/orrery-log/orrery/core/env"
)

func TestASmallRequestCanNotAskForTheSameAgainAndAgain(t *testing.T) {
	r := newRig(t, nil)
	r.create("a", 3)
	producers := kmsg.NewPtrDescribeProducersRequest()
	topic := kmsg.NewDescribeProducersRequestTopic()
	topic.Topic, topic.Partitions = "a", []int32{1, 1, 2, 1}
	producers.Topics = append(producers.Topics, topic, topic)
	require.Len(t, answered[*kmsg.DescribeProducersResponse](r, r.ask(1, producers)).Topics[0].Partitions, 2)

	meta := kmsg.NewPtrMetadataRequest()
	meta.Version = 13
	for i := range 10 {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic, topic.TopicID = kmsg.StringPtr(fmt.Sprint("name", i)), r.b.image.Topic("a").ID
		meta.Topics = append(meta.Topics, topic)
	}
	require.Len(t, answered[*kmsg.MetadataResponse](r, r.ask(1, meta)).Topics, 1)
}

// A client that does not take its answers could otherwise have any amount of them made.
func TestWhoTakesNoAnswersIsAskedToWait(t *testing.T) {
	r := newRig(t, func(l *env.Limits) { l.Replies = 10_000 })
	r.create("a", 100)
	var names []request
	for range 5 {
		names = append(names, r.ask(1, metadataRequest(12, "a")))
	}
	require.Contains(t, r.replies, names[0], "who has taken all answers gets a large one, too")
	require.Len(t, r.open, 4)
	r.opened(2)
	other := r.ask(2, metadataRequest(12, "a"))
	require.Contains(t, r.replies, other, "another's answers are no reason to wait")
	r.hangup(2)
	for i := range names {
		require.NotContains(t, r.replies, request{1, names[i].n + 1}, "the next one waits")
		r.sent()
		for len(r.unsent) > 1 {
			t.Fatal("one answer makes room for one")
		}
	}
	require.Empty(t, r.open)
	require.Empty(t, r.b.crowd)
}

func TestASearchHoldsOneReadHoweverManyPartitionsItNames(t *testing.T) {
	r := newRig(t, func(l *env.Limits) { l.StoreBytes, l.Reads = 100, 100_000 })
	r.create("a", 20)
	for p := range int32(20) {
		r.produce(1, "a", p, -1, make([]byte, 300))
	}
	r.settle()
	search := func(conn env.ConnID) request {
		req := kmsg.NewPtrListOffsetsRequest()
		req.Version = 7
		topic := kmsg.NewListOffsetsRequestTopic()
		topic.Topic = "a"
		for p := range int32(20) {
			part := kmsg.NewListOffsetsRequestTopicPartition()
			part.Partition, part.Timestamp, part.CurrentLeaderEpoch = p, r.now.WallMillis(), -1
			topic.Partitions = append(topic.Partitions, part)
		}
		req.Topics = append(req.Topics, topic)
		return r.ask(conn, req)
	}
	first := search(1)
	require.Len(t, r.reads, 1)
	r.b.lim.Reads = r.b.reading
	second := search(1)
	require.Len(t, r.reads, 1, "the budget is used up")
	for len(r.reads)+len(r.jobs) > 0 {
		require.LessOrEqual(t, len(r.reads)+len(r.jobs), 2)
		if len(r.reads) > 0 {
			r.read(0)
		} else {
			r.job(0)
		}
	}
	for _, name := range []request{first, second} {
		for _, p := range answered[*kmsg.ListOffsetsResponse](r, name).Topics[0].Partitions {
			require.Zero(t, p.ErrorCode)
			require.Zero(t, p.Offset)
		}
	}
	require.Zero(t, r.b.reading)
}

// A load brings the way from the last index entry, too: many small wishes would
// together read much.
func TestAFetchOfManyPartitionsKeepsTheReadsBudget(t *testing.T) {
	r := newRig(t, func(l *env.Limits) { l.StoreBytes, l.Reads = 100, 10_000 })
	r.create("a", 30)
	for p := range int32(30) {
		for range 5 {
			r.produce(1, "a", p, -1, make([]byte, 300))
		}
	}
	r.settle()
	req := fetchRequest(12, 0, "a")
	req.Topics[0].Partitions = nil
	for p := range int32(30) {
		part := kmsg.NewFetchRequestTopicPartition()
		part.Partition, part.PartitionMaxBytes = p, 1
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, part)
	}
	name := r.ask(1, req)
	require.NotEmpty(t, r.reads)
	require.LessOrEqual(t, r.b.reading, r.b.lim.Reads)
	r.settle()
	require.NotEmpty(t, answered[*kmsg.FetchResponse](r, name).Topics[0].Partitions[0].RecordBatches)
}

func TestAFetchOfNoBytesBringsOneBatchAtOnce(t *testing.T) {
	r := newRig(t, nil)
	r.create("a", 1)
	r.produce(1, "a", 0, -1, []byte("x"))
	r.settle()
	req := fetchRequest(12, 500, "a")
	req.MaxBytes, req.Topics[0].Partitions[0].PartitionMaxBytes = 0, 0
	require.NotEmpty(t, answered[*kmsg.FetchResponse](r, r.ask(1, req)).Topics[0].Partitions[0].RecordBatches)
}

func TestAFetchThatWaitsForRoomStandsInTheQueueOnce(t *testing.T) {
	r := newRig(t, func(l *env.Limits) { l.Replies = 2000 })
	r.create("a", 1)
	r.produce(1, "a", 0, -1, make([]byte, 5000))
	r.settle()
	r.opened(2)
	r.ask(2, fetchRequest(12, 500, "a"))
	r.opened(3)
	name := r.ask(3, fetchRequest(12, 500, "a"))
	require.Contains(t, r.open, name)
	for range 10 {
		r.produce(1, "a", 0, -1, nil)
		r.journaled(r.asked, r.asked)
	}
	require.Len(t, r.b.starved, 1)
	r.settle()
	require.NotEmpty(t, answered[*kmsg.FetchResponse](r, name).Topics[0].Partitions[0].RecordBatches)
}

func TestWhatAConnectionHasNotBegunGoesWithIt(t *testing.T) {
	r := newRig(t, nil)
	r.opened(2)
	r.ask(1, createRequest(7, "first")) // under way
	for i := range 10 {
		r.ask(2, createRequest(7, fmt.Sprint("topic", i)))
	}
	third := r.ask(1, createRequest(7, "third"))
	r.hangup(2)
	require.Len(t, r.b.admin.queue, 1)
	r.settle()
	require.Zero(t, answered[*kmsg.CreateTopicsResponse](r, third).Topics[0].ErrorCode)
	require.Nil(t, r.b.image.Topic("topic0"))
}

func TestSessionsAreBoundedByTheirPartitions(t *testing.T) {
	r := newRig(t, func(l *env.Limits) { l.SessionParts = 3 })
	r.create("a", 1)
	first := func(topics ...string) int32 {
		req := fetchRequest(12, 0, topics...)
		req.SessionEpoch = 0
		res := answered[*kmsg.FetchResponse](r, r.ask(1, req))
		require.Zero(t, res.ErrorCode)
		require.Len(t, res.Topics, len(topics))
		return res.SessionID
	}
	id := first("a", "b")
	require.NotZero(t, id)
	require.Zero(t, first("a", "b"), "there is no room for two more")
	grow := fetchRequest(12, 0, "c", "d")
	grow.SessionID, grow.SessionEpoch = id, 1
	require.Equal(t, env.FetchSessionIDNotFound, answered[*kmsg.FetchResponse](r, r.ask(1, grow)).ErrorCode)
	require.NotZero(t, first("a", "b", "c"), "it has made room")
	require.Zero(t, first("a", "b", "c"))
	r.after(sessionIdle)
	require.NotZero(t, first("a", "b", "c"), "an idle one goes")
	require.Zero(t, first("a", "b", "c", "d"))
}

func TestASessionFollowsANameToTheTopicThatHasIt(t *testing.T) {
	r := newRig(t, nil)
	req := fetchRequest(12, 0, "a")
	req.SessionEpoch = 0
	res := answered[*kmsg.FetchResponse](r, r.ask(1, req))
	require.Equal(t, env.UnknownTopicOrPartition, res.Topics[0].Partitions[0].ErrorCode)
	next := func(epoch int32) *kmsg.FetchResponse {
		req := fetchRequest(12, 0)
		req.SessionID, req.SessionEpoch = res.SessionID, epoch
		name := r.ask(1, req)
		return answered[*kmsg.FetchResponse](r, name)
	}
	r.create("a", 1)
	require.Zero(t, next(1).Topics[0].Partitions[0].ErrorCode, "it has come")
	r.delete("a")
	r.settle()
	require.Equal(t, env.UnknownTopicOrPartition, next(2).Topics[0].Partitions[0].ErrorCode)
	r.create("a", 1)
	r.produce(1, "a", 0, -1, []byte("x"))
	r.settle()
	require.NotEmpty(t, next(3).Topics[0].Partitions[0].RecordBatches, "another of that name")

	both := fetchRequest(12, 0, "a")
	both.SessionID, both.SessionEpoch = res.SessionID, 4
	gone := kmsg.NewFetchRequestForgottenTopic()
	gone.Topic, gone.Partitions = "a", []int32{0}
	both.ForgottenTopics = append(both.ForgottenTopics, gone)
	require.Empty(t, answered[*kmsg.FetchResponse](r, r.ask(1, both)).Topics, "what is named and forgotten is forgotten, as in Kafka")
}

func TestATopicThatGoesTakesTheAppendsThatWaitForItsJobs(t *testing.T) {
	r := newRig(t, nil)
	r.create("a", 1, env.Property{Name: "compression.type", Value: "gzip"})
	name := r.produce(1, "a", 0, -1, make([]byte, 1000))
	require.Len(t, r.jobs, 1)
	require.Positive(t, r.b.stalled)
	r.delete("a")
	r.journaled(r.asked, r.asked)
	require.Equal(t, env.UnknownTopicOrPartition, answered[*kmsg.ProduceResponse](r, name).Topics[0].Partitions[0].ErrorCode)
	require.Zero(t, r.b.stalled)
	r.create("a", 1, env.Property{Name: "compression.type", Value: "gzip"}) // perhaps in the same slot, and the job is still under way
	r.settle()
}

func TestBatchesThatWaitForJobsCountAsUnwritten(t *testing.T) {
	r := newRig(t, func(l *env.Limits) { l.Unwritten, l.ConnShare = 3000, 100 })
	r.create("a", 2, env.Property{Name: "compression.type", Value: "gzip"})
	r.opened(2)
	r.produce(1, "a", 0, -1, make([]byte, 2000))
	name := r.produce(2, "a", 1, -1, make([]byte, 2000))
	require.Len(t, r.jobs, 1, "the second waits at the door")
	r.settle()
	require.Zero(t, answered[*kmsg.ProduceResponse](r, name).Topics[0].Partitions[0].ErrorCode)
}

// Whatever comes and goes in whatever order, a request of a live connection is
// answered once, and a broker that has nothing to do holds nothing.
func TestEveryRequestIsAnsweredOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(t, what) }
		r := newRig(t, func(l *env.Limits) {
			l.Unwritten, l.Tails, l.Journal, l.Reads, l.Replies = 4000, 4000, 20_000, 9000, 5000
			l.StoreBytes, l.StoreAge, l.CarryMax, l.SessionParts = 1500, 100*env.Millisecond, 300, 4
		})
		topics := []string{"a", "b", "c"}
		r.create("a", 2, env.Property{Name: "compression.type", Value: "lz4"})
		r.create("b", 1)
		next := env.ConnID(1)
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			conn := env.ConnID(1 + draw(int(next), "conn"))
			topic := topics[draw(3, "topic")]
			if _, live := r.b.conns[conn]; !live {
				next++
				conn = next
				r.opened(conn)
			}
			switch draw(20, "what") {
			case 0, 1, 2, 3:
				r.produce(conn, topic, int32(draw(2, "partition")), int16(draw(3, "acks")-1), make([]byte, draw(5000, "size")))
			case 4:
				req := fetchRequest(12, int32(draw(300, "wait")), topics[:draw(4, "topics")]...)
				req.SessionEpoch, req.MinBytes = int32(draw(3, "session")-1), int32(draw(3000, "least"))
				for id := range r.b.sessions.byID {
					req.SessionID = id
				}
				r.ask(conn, req)
			case 5:
				req := kmsg.NewPtrListOffsetsRequest()
				req.Version = 7
				q, p := kmsg.NewListOffsetsRequestTopic(), kmsg.NewListOffsetsRequestTopicPartition()
				q.Topic, p.Timestamp, p.CurrentLeaderEpoch = topic, r.now.WallMillis()-int64(draw(500, "age")), -1
				q.Partitions = append(q.Partitions, p)
				req.Topics = append(req.Topics, q)
				r.ask(conn, req)
			case 6:
				req := kmsg.NewPtrDeleteRecordsRequest()
				req.Version, req.TimeoutMillis = 2, int32(draw(1000, "time-out"))
				q, p := kmsg.NewDeleteRecordsRequestTopic(), kmsg.NewDeleteRecordsRequestTopicPartition()
				q.Topic, p.Offset = topic, int64(draw(20, "offset")-1)
				q.Partitions = append(q.Partitions, p)
				req.Topics = append(req.Topics, q)
				r.ask(conn, req)
			case 7:
				r.ask(conn, metadataRequest(12, topic))
			case 8:
				r.ask(conn, createRequest(7, topic))
			case 9:
				req := kmsg.NewPtrDeleteTopicsRequest()
				req.Version, req.TopicNames = 5, []string{topic}
				r.ask(conn, req)
			case 10:
				req := kmsg.NewPtrInitProducerIDRequest()
				req.Version = 4
				r.ask(conn, req)
			case 11:
				r.hangup(conn)
			case 12:
				r.after(env.Time(draw(400, "ms")) * env.Millisecond)
			case 13, 14:
				written := r.written + env.Seq(draw(int(r.asked-r.written)+1, "written"))
				r.journaled(written, r.synced+env.Seq(draw(int(written-r.synced)+1, "synced")))
			case 15:
				if len(r.stored) > 0 {
					r.store(draw(len(r.stored), "store"))
				}
			case 16:
				if len(r.reads) > 0 {
					r.read(draw(len(r.reads), "read"))
				}
			case 17:
				if len(r.jobs) > 0 {
					r.job(draw(len(r.jobs), "job"))
				}
			default:
				if len(r.unsent) > 0 {
					r.sent()
				}
			}
		}
		r.settle()
		for range 3 { // deadlines pass, and what was let in on the way is done
			r.after(2 * env.Second)
			r.settle()
		}
		require.Empty(t, r.open)
		require.Zero(t, r.b.pending.count)
		require.Zero(t, r.b.unsent+r.b.reading+r.b.stalled)
		require.Empty(t, r.b.crowd)
		require.Empty(t, r.b.lobby.queue)
		require.Greater(t, r.b.WakeAt(), r.now.Mono, "nothing is due now")
	})
}

// What waits is kept as its bytes: what the door lets in must read what it writes.
func TestWhateverDecodesCanWait(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom(door.Keys()).Draw(t, "key")
		least, most, _, _ := door.Range(key)
		version := rapid.Int16Range(least, most).Draw(t, "version")
		body := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 0, 0, 1, 2, 3, 255, 'a'}), 0, 80).Draw(t, "body")
		req := kmsg.RequestForKey(key)
		req.SetVersion(version)
		if req.ReadFrom(append(body, make([]byte, 80)...)) == nil {
			again := kmsg.RequestForKey(key)
			again.SetVersion(version)
			require.NoError(t, again.ReadFrom(req.AppendTo(nil)))
		}
	})
}
