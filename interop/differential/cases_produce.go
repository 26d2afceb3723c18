package differential

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func produceCases() []scenario {
	const produceKey = 0
	a := []topic{{name: "a", partitions: 2}}
	sent := func(name string, topics []topic, ask func(r *run) kmsg.Request) scenario {
		back := read("a", 0)
		if strings.Contains(name, "acks 1") {
			back = readLater("a", 0) // here an answer to acks 1 is earlier than the watermark
		}
		return scenario{name: name, key: produceKey, topics: topics, steps: []step{{ask: ask}, back}}
	}
	good := batch{records: values("one", "two", "three")}
	return []scenario{
		sent("acks all", a, func(r *run) kmsg.Request { return produce(r, -1, part{"a", 0, good.bytes()}) }),
		sent("acks 1", a, func(r *run) kmsg.Request { return produce(r, 1, part{"a", 0, good.bytes()}) }),
		{name: "acks 0 is not answered", key: produceKey, from: 3, to: 9, topics: a, steps: []step{
			{ask: func(r *run) kmsg.Request { return produce(r, 0, part{"a", 0, good.bytes()}) }},
		}},
		{name: "acks 0 to an unknown partition", key: produceKey, from: 9, to: 9, topics: a, steps: []step{
			{ask: func(r *run) kmsg.Request { return produce(r, 0, part{"a", 7, good.bytes()}) }},
		}},
		sent("acks 2", a, func(r *run) kmsg.Request { return produce(r, 2, part{"a", 0, good.bytes()}) }),
		sent("acks -2", a, func(r *run) kmsg.Request { return produce(r, -2, part{"a", 0, good.bytes()}) }),
		sent("timeout 0", a, func(r *run) kmsg.Request {
			req := produce(r, 1, part{"a", 0, good.bytes()})
			req.TimeoutMillis = 0
			return req
		}),
		sent("no topics", a, func(r *run) kmsg.Request { return produce(r, -1) }),
		sent("no partitions", a, func(r *run) kmsg.Request {
			req := produce(r, -1, part{"a", 0, nil})
			req.Topics[0].Partitions = []kmsg.ProduceRequestTopicPartition{}
			return req
		}),
		sent("two partitions", a, func(r *run) kmsg.Request {
			return produce(r, -1, part{"a", 0, good.bytes()}, part{"a", 1, good.bytes()})
		}),
		sent("unknown partition beside a good one", a, func(r *run) kmsg.Request {
			return produce(r, -1, part{"a", 0, good.bytes()}, part{"a", 9, good.bytes()})
		}),
		sent("negative partition", a, func(r *run) kmsg.Request { return produce(r, -1, part{"a", -1, good.bytes()}) }),
		sent("unknown topic beside a good one", a, func(r *run) kmsg.Request {
			return produce(r, -1, part{"a", 0, good.bytes()}, part{"nowhere", 0, good.bytes()})
		}),
		sent("illegal topic name", a, func(r *run) kmsg.Request { return produce(r, -1, part{"=a b/c", 0, good.bytes()}) }).upto(12),
		sent("zero topic id", a, func(r *run) kmsg.Request {
			req := produce(r, -1, part{"a", 0, good.bytes()})
			req.Topics[0].TopicID = [16]byte{}
			return req
		}).since(13),
		sent("empty records", a, func(r *run) kmsg.Request { return produce(r, -1, part{"a", 0, []byte{}}) }),
		{name: "null records", key: produceKey, topics: a, shared: true, steps: []step{
			{name: "null (no answer)", ask: func(r *run) kmsg.Request { return produce(r, -1, part{"a", 0, nil}) }},
		}},
		sent("a batch without records", a, func(r *run) kmsg.Request { return produce(r, -1, part{"a", 0, batch{records: []rec{}}.bytes()}) }),
		sent("null key and null value", a, func(r *run) kmsg.Request {
			return produce(r, -1, part{"a", 0, batch{records: []rec{{}, {key: []byte{}, value: []byte{}}}}.bytes()})
		}),
		sent("headers", a, func(r *run) kmsg.Request {
			return produce(r, -1, part{"a", 0, batch{records: []rec{{value: []byte("v"), headers: []kmsg.Header{{Key: "h", Value: []byte("x")}, {Key: "", Value: nil}}}}}.bytes()})
		}),
		sent("a transactional id without a transaction", a, func(r *run) kmsg.Request {
			req := produce(r, -1, part{"a", 0, good.bytes()})
			req.TransactionID = ptr("no-such-transaction")
			return req
		}),
		sent("transactional bit without a transactional id", a, func(r *run) kmsg.Request {
			return produce(r, -1, part{"a", 0, batch{attrs: 0x10, producer: inventedProducer + 1}.bytes()})
		}),
		sent("larger than max.message.bytes", []topic{{name: "a", configs: []string{"max.message.bytes", "200"}}}, func(r *run) kmsg.Request {
			return produce(r, -1, part{"a", 0, batch{records: values(string(make([]byte, 300)))}.bytes()})
		}),
		sent("as large as max.message.bytes", []topic{{name: "a", configs: []string{"max.message.bytes", "74"}}}, func(r *run) kmsg.Request {
			return produce(r, -1, part{"a", 0, batch{}.bytes()})
		}),
		sent("one byte larger than max.message.bytes", []topic{{name: "a", configs: []string{"max.message.bytes", "73"}}}, func(r *run) kmsg.Request {
			return produce(r, -1, part{"a", 0, batch{}.bytes()})
		}),
		sent("log append time", []topic{{name: "a", configs: []string{"message.timestamp.type", "LogAppendTime"}}}, func(r *run) kmsg.Request {
			return produce(r, -1, part{"a", 0, good.bytes()})
		}),
		sent("too old", []topic{{name: "a", configs: []string{"message.timestamp.before.max.ms", "1000"}}}, func(r *run) kmsg.Request {
			return produce(r, -1, part{"a", 0, good.bytes()})
		}),
		sent("too far in the future", a, func(r *run) kmsg.Request {
			return produce(r, -1, part{"a", 0, batch{at: 4_000_000_000_000}.bytes()})
		}),
		sent("negative timestamp", a, func(r *run) kmsg.Request { return produce(r, -1, part{"a", 0, batch{at: -1}.bytes()}) }),
		sent("compacted topic without a key", []topic{{name: "a", configs: []string{"cleanup.policy", "compact"}}}, func(r *run) kmsg.Request {
			return produce(r, -1, part{"a", 0, batch{records: []rec{{value: []byte("v")}}}.bytes()})
		}),
		sent("compacted topic, one of three without a key", []topic{{name: "a", configs: []string{"cleanup.policy", "compact"}}}, func(r *run) kmsg.Request {
			return produce(r, -1, part{"a", 0, batch{records: []rec{{key: []byte("k")}, {value: []byte("v")}, {value: []byte("w")}}}.bytes()})
		}),
		sent("compacted topic with keys", []topic{{name: "a", configs: []string{"cleanup.policy", "compact"}}}, func(r *run) kmsg.Request {
			return produce(r, -1, part{"a", 0, good.bytes()})
		}),
		sent("recompression to gzip", []topic{{name: "a", configs: []string{"compression.type", "gzip"}}}, func(r *run) kmsg.Request {
			return produce(r, -1, part{"a", 0, good.bytes()})
		}),
		sent("recompression to uncompressed", []topic{{name: "a", configs: []string{"compression.type", "uncompressed"}}}, func(r *run) kmsg.Request {
			return produce(r, -1, part{"a", 0, batch{codec: 3, records: good.records}.bytes()})
		}),
		sent("recompression from zstd to lz4", []topic{{name: "a", configs: []string{"compression.type", "lz4"}}}, func(r *run) kmsg.Request {
			return produce(r, -1, part{"a", 0, batch{codec: 4, records: good.records}.bytes()})
		}).since(7),
		sent("recompression with log append time", []topic{{name: "a", configs: []string{"compression.type", "snappy", "message.timestamp.type", "LogAppendTime"}}}, func(r *run) kmsg.Request {
			return produce(r, -1, part{"a", 0, batch{codec: 1, records: good.records}.bytes()})
		}),
		sent("min.insync.replicas 2", []topic{{name: "a", configs: []string{"min.insync.replicas", "2"}}}, func(r *run) kmsg.Request {
			return produce(r, -1, part{"a", 0, good.bytes()})
		}),
		sent("min.insync.replicas 2 with acks 1", []topic{{name: "a", configs: []string{"min.insync.replicas", "2"}}}, func(r *run) kmsg.Request {
			return produce(r, 1, part{"a", 0, good.bytes()})
		}),
		{name: "offsets go on", key: produceKey, topics: a, steps: []step{
			{ask: func(r *run) kmsg.Request { return produce(r, -1, part{"a", 0, good.bytes()}) }},
			{ask: func(r *run) kmsg.Request { return produce(r, 1, part{"a", 0, batch{}.bytes()}) }},
			{ask: func(r *run) kmsg.Request { return produce(r, -1, part{"a", 0, good.bytes()}) }},
			read("a", 0), read("a", 4), read("a", 7), read("a", 8),
		}},
		{name: "unknown topic is not made by a produce", key: produceKey, to: 12, steps: []step{
			{ask: func(r *run) kmsg.Request { return produce(r, -1, part{"b", 0, good.bytes()}) }},
			{ask: func(r *run) kmsg.Request { return produce(r, 1, part{"b", 0, good.bytes()}) }},
		}},
	}
}

// batchCases are the faults of section 2.14 and their relatives, one batch each.
func batchCases() []scenario {
	a := []topic{{name: "a", partitions: 2}}
	three := values("one", "two", "three")
	bad := func(name string, b batch) scenario {
		return scenario{name: name, key: 0, topics: a, steps: []step{
			{ask: func(r *run) kmsg.Request { return produce(r, -1, part{"a", 0, b.bytes()}) }},
			{name: "beside a good one", ask: func(r *run) kmsg.Request {
				return produce(r, -1, part{"a", 0, b.bytes()}, part{"a", 1, batch{}.bytes()})
			}},
			read("a", 0),
		}}
	}
	all := []scenario{
		bad("wrong CRC", batch{late: put32(17, 0xbadbad)}),
		bad("magic 3", batch{fault: put8(16, 3)}),
		bad("magic 1", batch{fault: put8(16, 1)}),
		bad("magic 0", batch{fault: put8(16, 0)}),
		bad("magic -1", batch{fault: put8(16, 0xff)}),
		bad("length one too large", batch{fault: func(b []byte) []byte { return put32(8, uint32(len(b)-11))(b) }}),
		bad("length one too small", batch{fault: func(b []byte) []byte { return put32(8, uint32(len(b)-13))(b) }}),
		bad("length 0", batch{fault: put32(8, 0)}),
		bad("length negative", batch{fault: put32(8, 0xffffffff)}),
		bad("length 48", batch{fault: put32(8, 48)}),
		bad("length absurd", batch{fault: put32(8, 0x7fffffff)}),
		bad("cut in the header", batch{late: func(b []byte) []byte { return b[:40] }}),
		bad("cut in the records", batch{late: func(b []byte) []byte { return b[:len(b)-3] }}),
		bad("ten bytes", batch{late: func(b []byte) []byte { return b[:10] }}),
		bad("bytes after the batch", batch{late: func(b []byte) []byte { return append(b, 1, 2, 3, 4, 5) }}),
		bad("two batches", batch{late: func(b []byte) []byte { return append(b, batch{}.bytes()...) }}),
		bad("more records than counted", batch{records: three, fault: func(b []byte) []byte { return put32(23, 1)(put32(57, 2)(b)) }}),
		bad("fewer records than counted", batch{records: three, fault: func(b []byte) []byte { return put32(23, 3)(put32(57, 4)(b)) }}),
		bad("count 0", batch{fault: put32(57, 0)}),
		bad("count negative", batch{fault: put32(57, 0xffffffff)}),
		bad("count absurd", batch{fault: put32(57, 0x7fffffff)}),
		bad("last offset delta too large", batch{records: three, fault: put32(23, 3)}),
		bad("last offset delta too small", batch{records: three, fault: put32(23, 1)}),
		bad("last offset delta negative", batch{records: three, fault: put32(23, 0xffffffff)}),
		bad("base offset 5", batch{fault: put64(0, 5)}),
		bad("base offset -1", batch{fault: put64(0, 0xffffffffffffffff)}),
		bad("leader epoch 0", batch{fault: put32(12, 0)}),
		bad("leader epoch 77", batch{fault: put32(12, 77)}),
		bad("control bit", batch{attrs: 0x20}),
		bad("control bit with a producer", batch{attrs: 0x20, producer: inventedProducer + 2}),
		bad("log append time bit", batch{attrs: 0x08}),
		bad("delete horizon bit", batch{attrs: 0x40}),
		bad("unused attribute bits", batch{attrs: 0x7f00}),
		bad("producer id without a sequence", batch{fault: put64(43, inventedProducer+3)}),
		bad("producer id with a negative epoch", batch{producer: inventedProducer + 4, epoch: -1}),
		bad("producer id -2", batch{fault: put64(43, 0xfffffffffffffffe)}),
		bad("producer epoch without an id", batch{fault: put16(51, 3)}),
		bad("sequence without an id", batch{fault: put32(53, 3)}),
		bad("max timestamp too small", batch{records: three, fault: put64(35, uint64(firstTime))}),
		bad("max timestamp too large", batch{records: three, fault: put64(35, uint64(firstTime+1000))}),
		bad("codec 5", batch{fault: put16(21, 5)}),
		bad("codec 7", batch{fault: put16(21, 7)}),
		bad("gzip of garbage", batch{fault: put16(21, 1)}),
		bad("snappy of garbage", batch{fault: put16(21, 2)}),
		bad("lz4 of garbage", batch{fault: put16(21, 3)}),
		bad("zstd of garbage", batch{fault: put16(21, 4)}).since(7),
		bad("zstd", batch{codec: 4, records: three}),
		bad("gzip", batch{codec: 1, records: three}),
		bad("snappy", batch{codec: 2, records: three}),
		bad("lz4", batch{codec: 3, records: three}),
		bad("gzip cut short", batch{codec: 1, records: three, fault: func(b []byte) []byte { b = b[:len(b)-9]; return put32(8, uint32(len(b)-12))(b) }}),
		bad("gzip with fewer records than counted", batch{codec: 1, records: three, fault: func(b []byte) []byte { return put32(23, 3)(put32(57, 4)(b)) }}),
		bad("gzip with more records than counted", batch{codec: 1, records: three, fault: func(b []byte) []byte { return put32(23, 1)(put32(57, 2)(b)) }}),
		bad("offset deltas that skip", batch{records: three, fault: renumber(0, 2, 3)}),
		bad("offset deltas all zero", batch{records: three, fault: renumber(0, 0, 0)}),
		bad("offset deltas that fall", batch{records: three, fault: renumber(2, 1, 0)}),
		bad("record length too large", batch{fault: put8(61, 0x7e)}),
		bad("record length negative", batch{fault: put8(61, 0x01)}),
		bad("endless varint", batch{fault: func(b []byte) []byte {
			b = append(b[:61], bytes.Repeat([]byte{0xff}, 12)...)
			return put32(8, uint32(len(b)-12))(b)
		}}),
		bad("header count negative", batch{fault: func(b []byte) []byte { b[len(b)-1] = 1; return b }}),
		bad("header count too large", batch{fault: func(b []byte) []byte { b[len(b)-1] = 0x7e; return b }}),
	}
	for i := range all {
		// The faults are judged alike in all versions; these span the layouts and the change of zstd.
		if all[i].from == 0 {
			all[i].from = 3
		}
	}
	return all
}

// renumber writes the offset deltas of three one-byte-delta records anew.
func renumber(deltas ...byte) func([]byte) []byte {
	return func(b []byte) []byte {
		at := 61
		for _, d := range deltas {
			size, k := binary.Varint(b[at:])
			// length, attributes, timestamp delta (one byte each in these records), offset delta
			b[at+k+2] = d << 1
			at += k + int(size)
		}
		return b
	}
}

func idempotenceCases() []scenario {
	a := []topic{{name: "a", partitions: 2}}
	// begin takes a producer id; send produces with it.
	begin := step{name: "take a producer id", fixed: true, ask: func(r *run) kmsg.Request {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version, req.TransactionTimeoutMillis = 4, 60_000
		return req
	}, keep: func(r *run, resp kmsg.Response) {
		p := resp.(*kmsg.InitProducerIDResponse)
		r.producer, r.epoch = append(r.producer, p.ProducerID), p.ProducerEpoch
	}}
	send := func(name string, epoch int16, sequence int32, n int) step {
		return step{name: name, ask: func(r *run) kmsg.Request {
			var rs []rec
			for range n {
				rs = append(rs, values("v")...)
			}
			return produce(r, -1, part{"a", 0, batch{records: rs, producer: r.producer[0], epoch: r.epoch + epoch, sequence: sequence}.bytes()})
		}}
	}
	case_ := func(name string, steps ...step) scenario {
		return scenario{name: "idempotent: " + name, key: 0, topics: a, steps: append(append([]step{begin}, steps...), read("a", 0))}
	}
	var six []step
	for i := range 6 {
		six = append(six, send("in order", 0, int32(i), 1))
	}
	return []scenario{
		case_("in order", send("first", 0, 0, 2), send("second", 0, 2, 3)),
		case_("a duplicate of the last", send("first", 0, 0, 2), send("again", 0, 0, 2), send("next", 0, 2, 1)),
		case_("a duplicate of the fifth last", append(six[:5:5], send("the oldest again", 0, 0, 1))...),
		case_("a duplicate of the sixth last", append(six[:6:6], send("the oldest again", 0, 0, 1))...),
		case_("the same sequence with another count", send("first", 0, 0, 2), send("longer", 0, 0, 3), send("shorter", 0, 0, 1)),
		case_("a gap", send("first", 0, 0, 1), send("gap", 0, 5, 1), send("next", 0, 1, 1)),
		case_("the first sequence is not 0", send("first", 0, 7, 1)),
		case_("a newer epoch from 0", send("first", 0, 0, 1), send("newer", 1, 0, 1), send("old epoch again", 0, 1, 1)),
		case_("a newer epoch not from 0", send("first", 0, 0, 1), send("newer", 1, 4, 1)),
		case_("a negative sequence", send("negative", 0, -5, 1)),
		case_("the sequence wraps", send("far", 0, 1<<31-2, 2), send("wrapped", 0, 0, 1)),
		case_("the sequence wraps inside a batch", send("far", 0, 1<<31-2, 4), send("behind", 0, 2, 1), send("again", 0, 1<<31-2, 4)),
		{name: "idempotent: a producer id that nobody gave", key: 0, topics: a, steps: []step{
			{name: "from 0", ask: func(r *run) kmsg.Request {
				return produce(r, -1, part{"a", 0, batch{producer: inventedProducer + 9}.bytes()})
			}},
			{name: "from 3", ask: func(r *run) kmsg.Request {
				return produce(r, -1, part{"a", 1, batch{producer: inventedProducer + 9, sequence: 3}.bytes()})
			}},
			read("a", 0),
		}},
		{name: "idempotent: a duplicate with acks 1", key: 0, topics: a, steps: []step{
			begin, send("first", 0, 0, 2),
			{name: "again with acks 1", ask: func(r *run) kmsg.Request {
				return produce(r, 1, part{"a", 0, batch{records: append(values("v"), values("v")...), producer: r.producer[0], epoch: r.epoch}.bytes()})
			}},
			read("a", 0),
		}},
	}
}
