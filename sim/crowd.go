package sim

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/core/env"
)

// Error codes that clients may meet and core/env does not name.
const leaderNotAvailable = 5

// crowd is all clients, and what they have in common, as if they shared a cache
// of metadata.
type crowd struct {
	w         *world
	producers []*producer
	consumers []*consumer
	admins    []*admin
	vandals   []*vandal
	topics    []topicCache
	sessions  uint64
	ids       map[int64]bool // producer ids ever given
	quietTill env.Time       // clients rest until then
	auditor   *auditor
}

// topicCache is what clients know of one topic of the plan.
type topicCache struct {
	now     *topicTruth // as the last Metadata or CreateTopics said; nil: not there
	created bool        // the last change that was acknowledged is its creation
	pending int         // creations and deletions under way or of unknown end
	changes uint64      // creations and deletions begun
	doubt   env.Time    // until then one of unknown end may still arrive and be carried out
}

func (c *crowd) begin(w *world) {
	c.w = w
	c.ids = map[int64]bool{}
	c.topics = make([]topicCache, len(w.plan.Topics))
	for i := range w.plan.Producers {
		c.producers = append(c.producers, newProducer(w, i+1, &w.plan.Producers[i]))
	}
	for i := range w.plan.Consumers {
		c.consumers = append(c.consumers, newConsumer(w, i+1, &w.plan.Consumers[i]))
	}
	for i := range w.plan.Admins {
		c.admins = append(c.admins, newAdmin(w, i+1, &w.plan.Admins[i]))
	}
	for i, every := range w.plan.Vandals {
		c.vandals = append(c.vandals, newVandal(w, i+1, every))
		c.vandals[i].begin()
	}
	for _, a := range c.admins {
		a.begin()
	}
	for _, p := range c.producers {
		p.begin()
	}
	for _, r := range c.consumers {
		r.begin()
	}
}

// resting is how long clients still rest; 0: they do not.
func (c *crowd) resting() env.Time { return max(c.quietTill-c.w.now, 0) }

func (c *crowd) topic(plan int) *topicTruth { return c.topics[plan].now }

func (c *crowd) topicID(plan int) [16]byte {
	if t := c.topics[plan].now; t != nil {
		return t.id
	}
	return [16]byte{}
}

func (c *crowd) newSession() uint64 { c.sessions++; return c.sessions }

// newProducerID holds that no producer id is given twice.
func (c *crowd) newProducerID(id int64) {
	if id < 0 || c.ids[id] {
		c.w.fail(notOnce, "producer id %d is given a second time", id)
	}
	c.ids[id] = true
}

// checkRefusal: while a broker is in order it may refuse only for want of time or room.
func (c *crowd) checkRefusal(what string, code int16) {
	switch code {
	case env.RequestTimedOut, env.KafkaStorageError, env.NotLeaderOrFollower, leaderNotAvailable:
	default:
		c.w.fail(inconsistent, "%s is refused with error %d", what, code)
	}
}

// inDoubt tells whether a creation or deletion of unknown end may still take effect.
func (c *crowd) inDoubt(plan int) bool { return c.topics[plan].doubt > c.w.now }

// doubted notes that nobody knows what becomes of a creation or deletion: its
// request may arrive late, and wait for the disk then.
func (c *crowd) doubted(plan int) {
	c.topics[plan].doubt = c.w.now + c.w.plan.Net.LateBy.Max + 2*env.Minute
}

// calm tells whether every client has an answer to everything.
func (c *crowd) calm() bool {
	for _, p := range c.producers {
		if p.open() > 0 || p.inFlight > 0 || p.asking {
			return false
		}
	}
	for _, r := range c.consumers {
		if r.busy {
			return false
		}
	}
	for _, a := range c.admins {
		if a.busy {
			return false
		}
	}
	return true
}

// finish lets every client end what it has begun and begin nothing new.
func (c *crowd) finish() {
	for _, p := range c.producers {
		p.done = true
		p.pump()
	}
	for _, r := range c.consumers {
		r.done = true
	}
	for _, a := range c.admins {
		a.done = true
	}
	for _, v := range c.vandals {
		v.done = true
		if v.link != nil {
			v.link.close()
		}
	}
}

// openRequests counts what has no answer yet.
func (c *crowd) openRequests() (n int, who string) {
	count := func(l *link, name string) {
		if l != nil && len(l.waiting) > 0 {
			n += len(l.waiting)
			who = name + " waits for the answer to " + kmsg.NameForKey(l.waiting[0].req.Key())
		}
	}
	for _, p := range c.producers {
		count(p.link, p.name())
	}
	for _, r := range c.consumers {
		count(r.link, r.name())
	}
	for _, a := range c.admins {
		count(a.link, a.name())
	}
	if c.auditor != nil {
		count(c.auditor.link, "auditor")
	}
	return n, who
}

// why tells what keeps the crowd from being calm.
func (c *crowd) why() string {
	for _, p := range c.producers {
		if p.open() > 0 || p.inFlight > 0 || p.asking {
			return p.name() + " has " + utoa(uint64(p.open())) + " batches open, " + utoa(uint64(p.inFlight)) + " under way"
		}
	}
	for _, r := range c.consumers {
		if r.busy {
			return r.name() + " is busy"
		}
	}
	for _, a := range c.admins {
		if a.busy {
			return a.name() + " is busy"
		}
	}
	return "all are calm"
}
