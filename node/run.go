package node

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
)

// Run runs a broker until the context ends, drains and closes it. It prints
// "ready HOST:PORT" to out, once, when clients are answered.
func Run(ctx context.Context, s Settings, out io.Writer, log *slog.Logger) error {
	tuneMemory(s.Limits(0), s.netOptions())
	n, err := Start(s, log)
	if err != nil {
		return err
	}
	if address := s.Text("orrery.http.address"); address != "" {
		end, err := n.metrics.serveHTTP(address, log)
		if err != nil {
			_ = n.Close() // the other error is the one to tell
			return err
		}
		defer end()
	}
	resting, awake := context.WithCancel(ctx)
	defer awake()
	go (&rest{stats: n.server.Stats, free: debug.FreeOSMemory}).run(resting)
	ready := n.Ready()
	for {
		select {
		case <-ready:
			fmt.Fprintf(out, "ready %s\n", n.Address())
			ready = nil
		case <-ctx.Done():
			log.Info("stopping: no new requests, what is in flight is answered")
			err := n.Close()
			if err == nil {
				log.Info("stopped")
			}
			return err
		case <-n.Ended():
			return n.Close()
		}
	}
}
