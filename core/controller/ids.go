package controller

import (
	"encoding/binary"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/core/metadata"
)

// drawTopicID draws the id of a new topic, by key: the life's seed, the topic's
// name and the place of the decision in the metadata log. A topic recreated under
// its old name is decided elsewhere in the log and so has another id.
func drawTopicID(c Context, name string) metadata.ID {
	purpose := "topic id of " + name
	for try := uint64(0); ; try++ {
		var id metadata.ID
		n := uint64(c.At)<<8 + 2*try
		binary.BigEndian.PutUint64(id[0:], env.Draw(c.Seed, purpose, n))
		binary.BigEndian.PutUint64(id[8:], env.Draw(c.Seed, purpose, n+1))
		id[6] = id[6]&0x0f | 0x40 // a random UUID, version 4
		id[8] = id[8]&0x3f | 0x80
		if usableID(c.Image, id) {
			return id
		}
	}
}

// usableID: the id is nobody's, and its text does not begin with '-', which
// command line tools would take for an option.
func usableID(m *metadata.Image, id metadata.ID) bool {
	const dash = 62 // of base64url
	return m.TopicByID(id) == nil && id != metadata.MetadataTopic() && id[0]>>2 != dash
}
