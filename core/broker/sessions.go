package broker

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
)

// sessionIdle is how long a session is safe from being given up for a new one.
const sessionIdle = 2 * env.Minute

// sessions are the incremental fetch sessions (KIP-227): the partitions that a
// client named once, and what it was told of each last.
type sessions struct {
	max   int
	byID  map[int32]*session // never ranged over
	order []int32            // least recently used first
	made  uint64
}

type session struct {
	id    int32
	epoch int32 // of the next request
	byIDs bool  // its topics are named by id (v13)
	used  env.Time
	parts []sessionPart
}

type sessionPart struct {
	want              fetchPart
	hw, stable, start int64 // as last told
	told              bool
	brought           bool // the answer under way has records of it
}

func (s *sessions) init(most int) {
	s.max, s.byID = most, map[int32]*session{}
}

func (s *sessions) drop(id int32) {
	if s.byID[id] != nil {
		delete(s.byID, id)
		s.order = slices.DeleteFunc(s.order, func(o int32) bool { return o == id })
	}
}

func (s *sessions) touch(q *session, now env.Time) {
	q.used = now
	s.order = append(slices.DeleteFunc(s.order, func(o int32) bool { return o == q.id }), q.id)
}

// openSession finds the partitions that a Fetch means, and its session if any.
func (b *Broker) openSession(id env.ConnID, req *kmsg.FetchRequest, f *fetch) int16 {
	byIDs := req.Version >= 13
	if req.Version >= 7 && req.SessionEpoch < -1 {
		return env.InvalidFetchSessionEpoch
	}
	if req.Version < 7 || req.SessionEpoch <= 0 {
		if req.Version >= 7 && req.SessionID != 0 {
			b.sessions.drop(req.SessionID)
		}
		f.parts = b.named(nil, req, byIDs)
		if req.Version >= 7 && req.SessionEpoch == 0 {
			f.session = b.newSession(f.parts, byIDs)
		}
		return env.NoError
	}
	s := b.sessions.byID[req.SessionID]
	switch {
	case s == nil:
		return env.FetchSessionIDNotFound
	case s.epoch != req.SessionEpoch:
		return env.InvalidFetchSessionEpoch
	case s.byIDs != byIDs:
		return env.FetchSessionTopicIDError
	}
	if s.epoch++; s.epoch < 0 {
		s.epoch = 1
	}
	b.sessions.touch(s, b.now.Mono)
	s.forget(b, req, byIDs)
	s.update(b.named(nil, req, byIDs))
	f.session, f.full = s.id, false
	for i := range s.parts {
		part := s.parts[i].want
		if part.code == env.UnknownTopicID { // it may have come since
			part.code = b.topicOf(part.topic, part.id.Topic, byIDs).code
		}
		part.at = i
		f.parts = append(f.parts, part)
	}
	return env.NoError
}

// named adds the partitions that a request names, each once: the last time counts.
func (b *Broker) named(parts []fetchPart, req *kmsg.FetchRequest, byIDs bool) []fetchPart {
	seen := map[env.LogID]int{} // where each stands in parts; never ranged over
	for i := range req.Topics {
		topic := b.topicOf(req.Topics[i].Topic, req.Topics[i].TopicID, byIDs)
		for k := range req.Topics[i].Partitions {
			in := &req.Topics[i].Partitions[k]
			part := fetchPart{
				id: env.LogID{Topic: topic.id, Partition: in.Partition}, topic: req.Topics[i].Topic, code: topic.code,
				from: in.FetchOffset, max: in.PartitionMaxBytes, epoch: in.CurrentLeaderEpoch, lastEpoch: in.LastFetchedEpoch,
			}
			if req.Version < 9 {
				part.epoch = -1
			}
			if req.Version < 12 {
				part.lastEpoch = -1
			}
			if at, twice := seen[part.id]; twice && part.code == env.NoError {
				parts[at] = part
				continue
			}
			seen[part.id] = len(parts)
			parts = append(parts, part)
		}
	}
	return parts
}

func (b *Broker) newSession(parts []fetchPart, byIDs bool) int32 {
	s := &b.sessions
	if len(s.order) >= s.max {
		if s.max == 0 || b.now.Mono-s.byID[s.order[0]].used < sessionIdle {
			return 0
		}
		s.drop(s.order[0])
	}
	q := &session{epoch: 1, byIDs: byIDs}
	for q.id == 0 || s.byID[q.id] != nil {
		s.made++
		q.id = int32(env.Draw(b.cfg.Seed, "session", s.made) >> 33)
	}
	q.update(parts)
	s.byID[q.id] = q
	s.touch(q, b.now.Mono)
	return q.id
}

func (q *session) find(id env.LogID, topic string) int {
	return slices.IndexFunc(q.parts, func(p sessionPart) bool { return p.want.id == id && p.want.topic == topic })
}

func (q *session) update(parts []fetchPart) {
	for i := range parts {
		if k := q.find(parts[i].id, parts[i].topic); k >= 0 {
			q.parts[k].want = parts[i]
		} else {
			q.parts = append(q.parts, sessionPart{want: parts[i]})
		}
	}
}

func (q *session) forget(b *Broker, req *kmsg.FetchRequest, byIDs bool) {
	for i := range req.ForgottenTopics {
		gone := &req.ForgottenTopics[i]
		q.parts = slices.DeleteFunc(q.parts, func(p sessionPart) bool {
			same := p.want.topic == gone.Topic
			if byIDs {
				same = p.want.id.Topic == gone.TopicID
			}
			return same && slices.Contains(gone.Partitions, p.want.id.Partition)
		})
	}
}

// worthTelling tells whether an answer names a partition, and notes what the
// client is told of it.
func (b *Broker) worthTelling(f *fetch, part *fetchPart, a *kmsg.FetchResponseTopicPartition) bool {
	p := b.sessions.part(f, part)
	if p == nil {
		return true
	}
	changed := !p.told || p.hw != a.HighWatermark || p.stable != a.LastStableOffset || p.start != a.LogStartOffset
	p.told, p.hw, p.stable, p.start = a.ErrorCode == env.NoError, a.HighWatermark, a.LastStableOffset, a.LogStartOffset
	p.brought = len(a.RecordBatches) > 0
	return f.full || changed || p.brought || a.ErrorCode != env.NoError || a.DivergingEpoch.EndOffset >= 0
}

// part is a partition's place in the session of a fetch; nil: there is none any more.
func (s *sessions) part(f *fetch, part *fetchPart) *sessionPart {
	q := s.byID[f.session]
	if q == nil {
		return nil
	}
	k := part.at
	if k >= len(q.parts) || q.parts[k].want.id != part.id || q.parts[k].want.topic != part.topic {
		if k = q.find(part.id, part.topic); k < 0 {
			return nil
		}
	}
	return &q.parts[k]
}

// rotate puts the partitions that brought records behind the others, so that
// full answers do not starve the last ones.
func (b *Broker) rotate(f *fetch) {
	q := b.sessions.byID[f.session]
	if q == nil {
		return
	}
	slices.SortStableFunc(q.parts, func(x, y sessionPart) int {
		switch {
		case x.brought == y.brought:
			return 0
		case y.brought:
			return -1
		}
		return 1
	})
	for i := range q.parts {
		q.parts[i].brought = false
	}
}
