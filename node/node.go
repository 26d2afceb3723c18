package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	gonet "net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/orrery-log/orrery/core/broker"
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/disk"
	"github.com/orrery-log/orrery/net"
)

// Node is a running broker.
type Node struct {
	log       *slog.Logger
	settings  Settings
	conns     int // connections at a time
	began     time.Time
	disk      *disk.Disk
	server    *net.Server
	listeners []bound
	loop      *loop
	metrics   *observed

	ready  chan struct{} // closed when clients are accepted
	ended  chan struct{} // closed when the loop has ended
	err    error         // why; valid after ended
	close  sync.Once
	closed error
}

// bound is a listener with its name.
type bound struct {
	name string
	gonet.Listener
}

// Start opens the data directory, binds the listeners and begins recovery. Clients
// are accepted when Ready is closed.
func Start(s Settings, log *slog.Logger) (*Node, error) {
	began := time.Now()
	if len(s.Ignored) > 0 {
		log.Info("settings that Kafka knows and that have no meaning here are ignored", "names", strings.Join(s.Ignored, " "))
	}
	limit, err := descriptorLimit()
	if err != nil {
		return nil, err
	}
	wanted := s.netOptions().MaxConns
	segments, conns := shareDescriptors(limit, wanted)
	if conns < wanted {
		log.Warn("fewer connections than max.connections: raise the limit of open files (ulimit -n, LimitNOFILE)", "connections", conns, "max.connections", wanted, "limit", limit)
	}
	d, err := disk.Open(disk.Options{Dir: s.DataDir(), Logger: log, OpenSegments: segments, StoreSyncBytes: storeSyncBytes(s.Limits(0).Journal)})
	if err != nil {
		return nil, err
	}
	n := &Node{log: log, settings: s, conns: conns, began: began, disk: d, ready: make(chan struct{}), ended: make(chan struct{})}
	if err := n.start(); err != nil {
		for _, l := range n.listeners {
			_ = l.Close() // nobody was served
		}
		return nil, errors.Join(err, d.Close())
	}
	return n, nil
}

func (n *Node) start() error {
	var fs unix.Statfs_t
	if err := unix.Statfs(n.settings.DataDir(), &fs); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	cfg := n.settings.brokerConfig(int64(fs.Blocks) * int64(fs.Bsize))
	if err := identify(n.disk, &cfg); err != nil {
		return err
	}
	var err error
	if cfg.Advertised, err = n.bind(); err != nil {
		return err
	}
	n.metrics = newObserved()
	n.loop = &loop{
		log: n.log, began: n.began, disk: n.disk, queue: newQueue(requestsQueued), metrics: n.metrics,
		jobs: newJobs(), stop: make(chan struct{}), onReady: n.accept,
	}
	n.metrics.alive = n.loop.turns
	if losses := cfg.AcceptLoss; len(losses) > 0 {
		n.log.Warn("losses that were accepted are final from now on", "logs", len(losses))
		n.loop.forget = func() error { return n.disk.ForgetAcceptedLosses(losses) }
	}
	n.loop.broker = broker.New(cfg, n.loop.now())
	o := n.settings.netOptions()
	o.MaxConns = n.conns
	o.Log, o.Mono, o.Sink, o.Served = n.log, func() env.Time { return n.loop.now().Mono }, n.loop.queue.put, n.metrics.served
	n.server = net.NewServer(o)
	n.loop.reply = n.server.Reply
	n.metrics.watch(n.server.Stats)
	n.log.Info("starting", "cluster", cfg.ClusterID, "node", cfg.NodeID, "data", n.settings.DataDir(), "listeners", n.settings.Text("listeners"))
	go n.run()
	return nil
}

// requestsQueued bounds the requests that wait for the loop; Kafka's queued.max.requests.
const requestsQueued = 512

// bind binds all listeners and says where clients find them.
func (n *Node) bind() ([]env.Endpoint, error) {
	open := n.settings.Listeners()
	for i := range open {
		e := &open[i]
		l, err := net.Listen(gonet.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
		if errors.Is(err, unix.EADDRINUSE) {
			return nil, fmt.Errorf("listener %s: port %d of %q is in use: stop what uses it, or set another port in listeners (0 takes a free one)", e.Listener, e.Port, e.Host)
		}
		if err != nil {
			return nil, fmt.Errorf("listener %s: %w", e.Listener, err)
		}
		e.Port = int32(l.Addr().(*gonet.TCPAddr).Port)
		n.listeners = append(n.listeners, bound{e.Listener, l})
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("this machine's name: %w", err)
	}
	return advertise(open, n.settings.Advertised(), host), nil
}

// accept opens the doors; the loop calls it at the broker's Ready.
func (n *Node) accept() {
	for _, l := range n.listeners {
		n.server.Serve(l.Listener, l.name)
	}
	n.log.Info("ready", "address", n.Address(), "after", time.Since(n.began).Round(time.Millisecond))
	n.metrics.ready.Store(true)
	close(n.ready)
}

// run is the loop's goroutine, and what is left to do when it fails.
func (n *Node) run() {
	defer close(n.ended)
	n.err = n.loop.run()
	n.loop.queue.close()
	if n.err != nil {
		n.metrics.ready.Store(false)
		cut, now := context.WithCancel(context.Background())
		now()
		n.server.Drain(cut) // nobody may be answered any more
	}
}

// Ready is closed when clients are accepted.
func (n *Node) Ready() <-chan struct{} { return n.ready }

// Ended is closed when the node can not go on, or was closed; Close says why.
func (n *Node) Ended() <-chan struct{} { return n.ended }

// Address is where the first listener is bound.
func (n *Node) Address() string { return n.listeners[0].Addr().String() }

// Close drains, stops and syncs. It returns what ended the node, if not this call.
func (n *Node) Close() error {
	n.close.Do(func() {
		n.metrics.ready.Store(false)
		for _, l := range n.listeners {
			_ = l.Close() // also those that are not served yet; a second close does no harm
		}
		patience, done := context.WithTimeout(context.Background(), n.settings.millis("orrery.drain.ms"))
		defer done()
		n.server.Drain(patience)
		n.loop.end()
		<-n.ended
		n.closed = n.err
		if err := n.disk.Close(); err != nil && n.closed == nil {
			n.closed = err
		}
	})
	return n.closed
}

// storeSyncBytes is after how many bytes segments are synced. The journal's cut waits
// for that: a small journal, filled before the segments of its records were synced,
// would let producers wait until their age is up.
func storeSyncBytes(journal int64) int64 {
	const mib = 1 << 20
	return min(max(journal/8, mib), 64*mib)
}
