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
	max      int // sessions
	partsMax int // partitions of all of them together
	parts    int
	byID     map[int32]*session // never ranged over
	order    []int32            // least recently used first
	made     uint64
}

type session struct {
	id    int32
	epoch int32 // of the next request
	byIDs bool  // its topics are named by id (v13)
	used  env.Time
	parts []sessionPart
	turn  int // changes when parts change their places
}

type sessionPart struct {
	want              fetchPart
	hw, stable, start int64 // as last told
	told              bool
	brought           bool // the answer under way has records of it
}

// partName is a partition as a client names it: by the topic's name, or by its id.
type partName struct {
	topic     string
	id        [16]byte
	partition int32
}

func (p *fetchPart) name() partName {
	if p.topic != "" {
		return partName{topic: p.topic, partition: p.id.Partition} // its id is what the name means now
	}
	return partName{id: p.id.Topic, partition: p.id.Partition}
}

func (s *sessions) init(most, parts int) {
	s.max, s.partsMax, s.byID = most, parts, map[int32]*session{}
}

func (s *sessions) drop(id int32) {
	if q := s.byID[id]; q != nil {
		s.parts -= len(q.parts)
		delete(s.byID, id)
		s.order = slices.DeleteFunc(s.order, func(o int32) bool { return o == id })
	}
}

func (s *sessions) touch(q *session, now env.Time) {
	q.used = now
	s.order = append(slices.DeleteFunc(s.order, func(o int32) bool { return o == q.id }), q.id)
}

// openSession finds the partitions that a Fetch means, and its session if any.
func (b *Broker) openSession(req *kmsg.FetchRequest, f *fetch) int16 {
	byIDs := req.Version >= 13
	if req.Version >= 7 && req.SessionEpoch < -1 {
		return env.InvalidFetchSessionEpoch
	}
	if req.Version < 7 || req.SessionEpoch <= 0 {
		if req.Version >= 7 && req.SessionID != 0 {
			b.sessions.drop(req.SessionID)
		}
		f.parts = b.named(req, byIDs)
		if req.Version >= 7 && req.SessionEpoch == 0 {
			f.session = b.newSession(f.parts, byIDs)
		}
		for i := range f.parts {
			f.parts[i].at = i
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
	before := len(s.parts)
	s.update(b.named(req, byIDs))
	s.forget(req, byIDs)
	b.sessions.parts += len(s.parts) - before
	if b.sessions.parts > b.sessions.partsMax && len(s.parts) > before {
		b.sessions.drop(s.id)
		return env.FetchSessionIDNotFound // the client asks for all again, and gets no session
	}
	if s.epoch++; s.epoch < 0 {
		s.epoch = 1
	}
	b.sessions.touch(s, b.now.Mono)
	f.session, f.turn, f.full = s.id, s.turn, false
	for i := range s.parts {
		part := s.parts[i].want
		ref := b.topicOf(part.topic, part.id.Topic, byIDs) // it may have come or gone since
		part.id.Topic, part.code, part.at = ref.id, ref.code, i
		f.parts = append(f.parts, part)
	}
	return env.NoError
}

// named are the partitions that a request names, each once: the last time counts.
func (b *Broker) named(req *kmsg.FetchRequest, byIDs bool) []fetchPart {
	var parts []fetchPart
	seen := map[partName]int{} // where each stands in parts; never ranged over
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
			if at, twice := seen[part.name()]; twice {
				parts[at] = part
				continue
			}
			seen[part.name()] = len(parts)
			parts = append(parts, part)
		}
	}
	return parts
}

// newSession makes a session, when there is room or one that is idle can go; else 0.
func (b *Broker) newSession(parts []fetchPart, byIDs bool) int32 {
	s := &b.sessions
	for len(s.order) >= s.max || s.parts+len(parts) > s.partsMax {
		if len(s.order) == 0 || b.now.Mono-s.byID[s.order[0]].used < sessionIdle {
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
	s.parts += len(q.parts)
	s.byID[q.id] = q
	s.touch(q, b.now.Mono)
	return q.id
}

// places tells where each partition stands.
func (q *session) places() map[partName]int {
	at := make(map[partName]int, len(q.parts)) // never ranged over
	for i := range q.parts {
		at[q.parts[i].want.name()] = i
	}
	return at
}

// update takes in what a request names; the partitions are named once each.
func (q *session) update(parts []fetchPart) {
	if len(parts) == 0 {
		return
	}
	at := q.places()
	for i := range parts {
		if k, known := at[parts[i].name()]; known {
			q.parts[k].want = parts[i]
		} else {
			q.parts = append(q.parts, sessionPart{want: parts[i]})
		}
	}
}

// forget drops what a request forgets, be it named by the same request.
func (q *session) forget(req *kmsg.FetchRequest, byIDs bool) {
	if len(req.ForgottenTopics) == 0 {
		return
	}
	gone := map[partName]bool{} // never ranged over
	for i := range req.ForgottenTopics {
		t := &req.ForgottenTopics[i]
		for _, partition := range t.Partitions {
			if byIDs {
				gone[partName{id: t.TopicID, partition: partition}] = true
			} else {
				gone[partName{topic: t.Topic, partition: partition}] = true
			}
		}
	}
	q.parts = slices.DeleteFunc(q.parts, func(p sessionPart) bool { return gone[p.want.name()] })
	q.turn++
}

// worthTelling tells whether an answer names a partition, and notes what the
// client is told of it in its place in the session; nil: it has none.
func (p *sessionPart) worthTelling(f *fetch, a *kmsg.FetchResponseTopicPartition) bool {
	if p == nil {
		return true
	}
	changed := !p.told || p.hw != a.HighWatermark || p.stable != a.LastStableOffset || p.start != a.LogStartOffset
	p.told, p.hw, p.stable, p.start = a.ErrorCode == env.NoError, a.HighWatermark, a.LastStableOffset, a.LogStartOffset
	p.brought = len(a.RecordBatches) > 0
	return f.full || changed || p.brought || a.ErrorCode != env.NoError || a.DivergingEpoch.EndOffset >= 0
}

// finder finds the partitions of a fetch in its session, which may have changed
// since the fetch came: a client can have several on the way.
type finder struct {
	q     *session
	moved map[partName]int // where they stand now; nil: where they stood
}

func (s *sessions) finder(f *fetch) finder {
	g := finder{q: s.byID[f.session]}
	if g.q != nil && g.q.turn != f.turn {
		g.moved = g.q.places()
	}
	return g
}

// part is a partition's place in the session; nil: there is none any more.
func (g *finder) part(part *fetchPart) *sessionPart {
	if g.q == nil {
		return nil
	}
	if g.moved == nil {
		return &g.q.parts[part.at]
	}
	if k, ok := g.moved[part.name()]; ok {
		return &g.q.parts[k]
	}
	return nil
}

// rotate puts the partitions that brought records behind the others, so that
// full answers do not starve the last ones.
func (q *session) rotate() {
	first := slices.IndexFunc(q.parts, func(p sessionPart) bool { return p.brought })
	if first < 0 {
		return
	}
	var brought []sessionPart
	kept := q.parts[:first]
	for _, p := range q.parts[first:] {
		if !p.brought {
			kept = append(kept, p)
			continue
		}
		p.brought = false
		brought = append(brought, p)
	}
	q.parts = append(kept, brought...)
	q.turn++
}
