package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	gonet "net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"

	"github.com/orrery-log/orrery/core/door"
	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/net"
)

// observed is what a node shows to Prometheus.
type observed struct {
	registry *prometheus.Registry
	ready    atomic.Bool
	alive    func() bool // the loop turns
	steps    prometheus.Counter
	batches  prometheus.Counter
	took     []prometheus.Observer // by API key; nil: not served

	mu    sync.Mutex
	notes map[string]prometheus.Gauge // what the broker counts, by its own names
}

func newObserved() *observed {
	o := &observed{
		registry: prometheus.NewRegistry(),
		steps:    prometheus.NewCounter(prometheus.CounterOpts{Name: "orrery_steps_total", Help: "Events that the broker took."}),
		batches:  prometheus.NewCounter(prometheus.CounterOpts{Name: "orrery_batches_total", Help: "Rounds of the loop."}),
		notes:    map[string]prometheus.Gauge{},
	}
	requests := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "orrery_request_seconds", Help: "From a request's last byte to its answer's last byte.",
		Buckets: []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10},
	}, []string{"api"})
	for _, key := range door.Keys() {
		for int(key) >= len(o.took) {
			o.took = append(o.took, nil)
		}
		o.took[key] = requests.WithLabelValues(kmsg.NameForKey(key))
	}
	o.registry.MustRegister(o.steps, o.batches, requests, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return o
}

// served takes the time that a request took.
func (o *observed) served(key int16, took time.Duration) {
	if int(key) < len(o.took) && o.took[key] != nil {
		o.took[key].Observe(took.Seconds())
	}
}

// watch shows what net counts.
func (o *observed) watch(stats func() net.Stats) {
	show := func(kind prometheus.ValueType, name, help string, value func(net.Stats) int64) {
		get := func() float64 { return float64(value(stats())) }
		if kind == prometheus.GaugeValue {
			o.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, get))
			return
		}
		o.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, get))
	}
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	show(gauge, "orrery_connections", "Open connections.", func(s net.Stats) int64 { return int64(s.Conns) })
	show(gauge, "orrery_frames_in_hand_bytes", "Requests that arrive or wait for their answer.", func(s net.Stats) int64 { return s.InHand })
	show(counter, "orrery_connections_accepted_total", "Connections that were served.", func(s net.Stats) int64 { return s.Accepted })
	show(counter, "orrery_connections_refused_total", "Connections beyond max.connections.", func(s net.Stats) int64 { return s.Refused })
	show(counter, "orrery_requests_total", "Requests that arrived.", func(s net.Stats) int64 { return s.Frames })
	show(counter, "orrery_received_bytes_total", "Bytes of requests.", func(s net.Stats) int64 { return s.Received })
	show(counter, "orrery_sent_bytes_total", "Bytes of answers.", func(s net.Stats) int64 { return s.Sent })
}

// note takes a Count or a Gauge of the broker.
func (o *observed) note(n *env.Note) {
	o.mu.Lock()
	g := o.notes[n.Name]
	if g == nil {
		g = prometheus.NewGauge(prometheus.GaugeOpts{Name: "orrery_" + strings.NewReplacer(".", "_", "-", "_").Replace(n.Name), Help: "As the broker says."})
		o.notes[n.Name] = g
		o.registry.MustRegister(g)
	}
	o.mu.Unlock()
	if n.Kind == env.Count {
		g.Add(float64(n.Value))
	} else {
		g.Set(float64(n.Value))
	}
}

// handler serves /metrics and /healthz.
func (o *observed) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(o.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		switch {
		case !o.ready.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, "not ready")
		case !o.alive():
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, "stuck")
		default:
			fmt.Fprintln(w, "ready")
		}
	})
	return mux
}

// serveHTTP serves /metrics and /healthz on an address. end stops it.
func (o *observed) serveHTTP(address string, log *slog.Logger) (end func(), err error) {
	l, err := gonet.Listen("tcp", address)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, fmt.Errorf("orrery.http.address: %s is in use: stop what uses it, or set another port", address)
	}
	if err != nil {
		return nil, fmt.Errorf("orrery.http.address: %w", err)
	}
	s := &http.Server{Handler: o.handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics are not served any more", "error", err)
		}
	}()
	log.Info("serving /metrics and /healthz", "address", l.Addr().String())
	return func() {
		soon, done := context.WithTimeout(context.Background(), time.Second)
		defer done()
		_ = s.Shutdown(soon) // a scraper that still reads is not worth waiting for
	}, nil
}
