package differential

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// served are the versions that Orrery serves; every case runs in each of its API's.
var served = map[int16][2]int16{
	0: {3, 13}, 1: {4, 18}, 2: {1, 11}, 3: {0, 13}, 10: {0, 6}, 18: {0, 5}, 19: {2, 7}, 20: {1, 6}, 21: {0, 2}, 22: {0, 5}, 23: {2, 4},
	32: {1, 4}, 33: {0, 2}, 35: {1, 5}, 37: {0, 3}, 44: {0, 1}, 60: {0, 2}, 61: {0, 0}, 74: {0, 1}, 75: {0, 0},
}

// scenario is a case: what must be there, and what is asked.
type scenario struct {
	name     string
	key      int16
	from, to int16 // versions; to 0: the last one served
	once     bool  // only in version from
	topics   []topic
	// shared: its steps change nothing, so one scene serves all versions.
	shared bool
	steps  []step
}

// step asks one request. Exactly one of ask and raw is given.
type step struct {
	name string
	// ask makes the request; its version is the run's unless ask sets one and fixed is true.
	ask   func(r *run) kmsg.Request
	fixed bool
	// raw gives the bytes behind the header for an API and version of its own choice.
	raw func(r *run) (key, version int16, body []byte)
	// waits adds to the answer whether it took at least this long.
	waits time.Duration
	// keep takes from the answer what later steps use.
	keep func(r *run, resp kmsg.Response)
	// quiet: setting the scene, not compared but for errors that stop it.
	quiet bool
	// settles: it asks about what Kafka changes in the background, so it waits a little first.
	settles bool
	// until asks again, for a while, until the answer is right: for what Kafka does in the background.
	until func(resp kmsg.Response) bool
}

func (s scenario) last() int16 {
	if s.once {
		return s.first()
	}
	if s.to == 0 {
		return served[s.key][1]
	}
	return s.to
}

func (s scenario) first() int16 { return max(s.from, served[s.key][0]) }

// seen is what one step showed on one side.
type seen struct {
	step   string
	fields []field
}

// silence is how long no answer is waited for where none may come.
const silence = 1500 * time.Millisecond

// play runs the scenario in one version on one side. A shared scenario goes on
// in the scene of an earlier run, if there is one.
func (s scenario) play(ctx context.Context, on *side, version int16, prefix string, earlier *run, settle time.Duration) (*run, []seen, error) {
	r := &run{side: on, version: version, prefix: prefix, ids: map[[16]byte]string{}, byName: map[string][16]byte{}, epochs: map[string]int32{}}
	set := s.shared && earlier != nil
	if set {
		r.prefix, r.ids, r.byName, r.epochs, r.producer, r.epoch = earlier.prefix, earlier.ids, earlier.byName, earlier.epochs, earlier.producer, earlier.epoch
	}
	if err := r.connect(); err != nil {
		return nil, nil, err
	}
	defer func() {
		if r.conn != nil { // a reconnection may have failed
			r.conn.Close()
		}
	}()
	if !set {
		if err := r.make(ctx, s.topics); err != nil {
			return nil, nil, err
		}
	}
	var all []seen
	for i, st := range s.steps {
		if set && st.quiet {
			continue
		}
		name := st.name
		if name == "" {
			name = fmt.Sprintf("step %d", i+1)
		}
		if st.settles {
			select {
			case <-ctx.Done():
			case <-time.After(settle):
			}
		}
		got, err := r.one(ctx, st)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %s: %w", on.name, name, err)
		}
		if !st.quiet {
			all = append(all, seen{name, got})
		}
	}
	return r, all, nil
}

func (r *run) one(ctx context.Context, st step) ([]field, error) {
	for deadline := time.Now().Add(10 * time.Second); ; {
		fs, resp, err := r.once(ctx, st)
		if err != nil || st.until == nil || resp != nil && st.until(resp) {
			return fs, err
		}
		if time.Now().After(deadline) {
			return append(fs, field{"in time", "never right"}), nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (r *run) once(ctx context.Context, st step) ([]field, kmsg.Response, error) {
	var req kmsg.Request
	var key, version int16
	var body []byte
	var flexible bool
	patience := 20 * time.Second
	if st.raw != nil {
		key, version, body = st.raw(r)
		if req = kmsg.RequestForKey(key); req != nil {
			req.SetVersion(version)
			flexible = req.IsFlexible()
		}
	} else {
		req = st.ask(r)
		if !st.fixed {
			req.SetVersion(r.version)
		}
		key, version, flexible = req.Key(), req.GetVersion(), req.IsFlexible()
		body = req.AppendTo(nil)
		if p, ok := req.(*kmsg.ProduceRequest); ok && p.Acks == 0 {
			patience = silence
		}
	}
	if mute(st) {
		patience = silence
	}
	start := time.Now()
	how, answer, err := r.conn.ask(key, version, flexible, body, patience)
	if err != nil {
		return nil, nil, err
	}
	fs := []field{{"outcome", string(how)}}
	if st.waits > 0 {
		fs = append(fs, field{"waited", fmt.Sprint(time.Since(start) >= st.waits)})
	}
	if how != answered {
		// A connection that is closed, or on which an answer may still come, is of no more use.
		return fs, nil, r.connect()
	}
	resp, err := decode(req, answer)
	if err != nil {
		if key == 18 {
			// An unsupported ApiVersions is answered in the layout of version 0.
			if old, err2 := decode(&kmsg.ApiVersionsRequest{}, answer); err2 == nil {
				return append(append(fs, field{"layout", "version 0"}), r.fields(old)...), old, nil
			}
		}
		return nil, nil, err
	}
	if st.keep != nil {
		st.keep(r, resp)
	}
	if _, err := wrong(st, resp); err != nil {
		return nil, nil, err
	}
	return append(fs, r.fields(resp)...), resp, nil
}

// mute tells a step whose name says that no answer may come.
func mute(st step) bool { return strings.Contains(st.name, "(no answer)") }

// wrong stops a case whose scene could not be set.
func wrong(st step, resp kmsg.Response) (int16, error) {
	if !st.quiet || st.until != nil {
		return 0, nil
	}
	code := firstError(resp)
	if code != 0 {
		return code, fmt.Errorf("setting the scene: %s answers error %d", kmsg.NameForKey(resp.Key()), code)
	}
	return 0, nil
}

func firstError(resp kmsg.Response) int16 {
	r := run{side: &side{}, ids: map[[16]byte]string{}, byName: map[string][16]byte{}}
	for _, f := range r.fields(resp) {
		if strings.HasSuffix(f.path, "ErrorCode") && f.value != "0" {
			var code int16
			fmt.Sscan(f.value, &code)
			return code
		}
	}
	return 0
}
