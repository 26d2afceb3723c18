// Package broker composes the machines of one shard: it routes events, owns
// pending requests and fetch sessions, and speaks Kafka's protocol (kmsg).
//
// What goes in? env events. What comes out? env effects. What always holds?
// Every request of a live connection gets exactly one reply; a request that
// would exceed a budget waits, in arrival order, before it changes any state;
// nothing above the high watermark is returned; nothing is acknowledged before
// it is as durable as was asked. What is it not? It holds no bytes of the disk
// and knows no socket.
//
// # How a request is served
//
// onRequest sends it by its type: onProduce, onFetch, onListOffsets and so on,
// one file a family. A handler either replies at once (b.reply) or parks a
// pending struct and keeps its ticket. Pending requests end in one place, settle,
// at the end of Step: by commit, by data, by time-out.
//
// # What a client can make the broker hold
//
//	its frames            the driver's budget, until the reply; a Produce beyond the
//	                      budgets or its share waits in the lobby, up to its time-out
//	batches for a Job     count as unwritten (b.stalled)
//	reads                 Reads; a ListOffsets has one read or job at a time
//	answers               Replies, from the reply to Sent, as weigh says; a connection
//	                      that has not taken its answers waits in b.crowd, without a
//	                      time-out: its own connection is all that it holds up
//	fetch sessions        Sessions and SessionParts
//	what it has not begun goes with its connection (onHangup)
//
// # How an admin request is served
//
// The metadata image is the committed state and nothing else. Requests that
// change it queue in b.admin, and one is decided at a time, when no record of an
// earlier decision is uncommitted: decide gives records and a response, the
// records are appended to the metadata log, and when they are committed and
// applied (and every new partition serves) the response is sent. So there is no
// speculative state to take back. See admin.go.
//
// The families' halves (topics.go, configs.go, cluster.go, metadata.go, logdirs.go):
//
//	decideCreateTopics(req, *answer) []metadata.Record    and so for DeleteTopics,
//	    CreatePartitions, AlterConfigs, IncrementalAlterConfigs: fills the answer
//	    as it will be sent when the records are committed; no record, no wait
//	decideAutoCreate(*kmsg.MetadataRequest) []metadata.Record
//	refuseAdmin(kmsg.Request, *answer, code) []metadata.Record    every part refused; nil
//	onMetadata(r, req, out): replies with b.metadataResponse(req, listener), or, when
//	    topics are to be created first, queues b.asOp(opCreate, r)
//	onDescribeCluster, onDescribeTopicPartitions, onDescribeConfigs,
//	onListConfigResources, onDescribeLogDirs (r env.Request, req, out): b.reply(out, r.Conn, r.N, res)
//
// b.image is the committed metadata, b.layers() the settings' layers, b.cfg this node.
package broker
