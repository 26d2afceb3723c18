package node

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/disk"
)

// The facts of a node that its data directory keeps.
const (
	metaCluster = "cluster.id"
	metaNode    = "node.id"
)

// identify says who this life is. The cluster's id and the node's number are
// given to a data directory once and stay its own: records that were written
// under one number must not be served under another.
func identify(d *disk.Disk, cfg *env.Config) error {
	meta := d.Meta()
	node := strconv.Itoa(int(cfg.NodeID))
	switch was, ok := meta[metaNode]; {
	case !ok:
		fresh := map[string]string{metaCluster: newClusterID(), metaNode: node}
		for k, v := range meta {
			fresh[k] = v
		}
		if err := d.SetMeta(fresh); err != nil {
			return fmt.Errorf("data directory: %w", err)
		}
		meta = fresh
	case was != node:
		return fmt.Errorf("the data directory belongs to node.id %s and node.id is %s: set node.id=%s, or use another log.dirs", was, node, was)
	}
	cfg.ClusterID = meta[metaCluster]
	cfg.Incarnation = [16]byte(random(16))
	cfg.Seed = binary.BigEndian.Uint64(random(8))
	var err error
	cfg.AcceptLoss, err = d.AcceptedLosses()
	return err
}

// newClusterID has the form of Kafka's: 16 random bytes in URL-safe base 64.
func newClusterID() string { return base64.RawURLEncoding.EncodeToString(random(16)) }

func random(n int) []byte {
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil { // it has no way to fail on a system that we run on
		panic(fmt.Sprintf("node: no randomness: %v", err))
	}
	return b
}
