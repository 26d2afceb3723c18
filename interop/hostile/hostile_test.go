package hostile

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/orrery-log/orrery/interop/process"
)

var crowd = flag.Int("hostile.connections", 5000, "connections that announce 100 MiB each")

// bound is what the process may hold at most, whatever is done to it: its
// budgets twice, the collector's slack, and what the connections themselves cost.
const bound = 800 << 20

func TestMain(m *testing.M) {
	code := m.Run()
	process.Clean()
	os.Exit(code)
}

func TestNoClientDisturbsTheOthersOrTakesTheMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute; run it without -short")
	}
	// Clients that do nothing, or do not read, are cut off soon, so that the test sees it.
	n := process.Start(t, process.Options{Set: []string{"connections.max.idle.ms=4000", "orrery.slow.reader.ms=3000"}})
	prepare(t, n.Addr)
	b, err := watch(n.Addr)
	require.NoError(t, err)
	defer b.end()
	idle := n.RSS()
	fmt.Printf("hostile: at rest %d MiB\n", idle>>20)
	for _, c := range []struct {
		name string
		do   func(t *testing.T, addr string)
	}{
		{"impossible requests", impossible},
		{"random bytes behind real headers", random},
		{"half frames and slow writers are cut off", halfFrames},
		{"announcements of 100 MiB", announcements},
		{"decompression bombs", bombs},
		{"bad batches", badBatches},
		{"answers that nobody reads", deaf},
		{"requests without end", endless},
		{"tags by the thousand", tags},
		{"connections that come and go", comeAndGo},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := sample(n)
			b.take()
			began := time.Now()
			c.do(t, n.Addr)
			time.Sleep(300 * time.Millisecond) // the bystander's share of what it left behind
			m.end()
			trips, slowest, err := b.take()
			fmt.Printf("hostile: %-40s %6v  bystander %4d trips, slowest %6v  %v\n", c.name, time.Since(began).Round(100*time.Millisecond), trips, slowest.Round(time.Millisecond), m)
			require.NoError(t, err)
			require.NotZero(t, trips, "the bystander made no trip")
			require.Less(t, slowest, 5*time.Second, "the bystander was held up")
			if gone, err := n.Exited(); gone {
				t.Fatalf("the process ended: %v\n%s", err, n.Stderr())
			}
			require.Less(t, m.peak, int64(bound))
			how, _, err := send(n.Addr, versions(), 10*time.Second)
			require.NoError(t, err)
			require.Equal(t, answered, how)
		})
	}
	b.end() // its client would try for ever to reach a node that has stopped
	require.NoError(t, n.Stop(20*time.Second))
}

// prepare makes the topics and fills one with 64 MiB.
func prepare(t *testing.T, addr string) {
	t.Helper()
	for _, topic := range []string{"target", "full"} {
		ct := kmsg.NewPtrCreateTopicsRequest()
		ct.Version, ct.TimeoutMillis = 4, 30_000
		x := kmsg.NewCreateTopicsRequestTopic()
		x.Topic, x.NumPartitions, x.ReplicationFactor = topic, 1, 1
		ct.Topics = append(ct.Topics, x)
		how, _, err := send(addr, frame(ct, 1), 20*time.Second)
		require.NoError(t, err)
		require.Equal(t, answered, how)
	}
	value := make([]byte, 900_000)
	for i := range 64 {
		how, answer, err := send(addr, frame(produce("full", batch(0, 1, record(nil, value, 0, nil), nil)), 1), 20*time.Second)
		require.NoError(t, err)
		require.Equal(t, answered, how)
		require.Zero(t, produceError(t, answer), "batch %d", i)
	}
}

func produceError(t *testing.T, answer []byte) int16 {
	t.Helper()
	resp := kmsg.NewPtrProduceResponse()
	resp.Version = 9
	require.NoError(t, resp.ReadFrom(answer[5:]))
	return resp.Topics[0].Partitions[0].ErrorCode
}

func impossible(t *testing.T, addr string) {
	huge := binary.BigEndian.AppendUint32(nil, 1<<31-1)
	minus := binary.BigEndian.AppendUint32(nil, 0xffffffff)
	prefix := func(size uint32) []byte {
		return append(binary.BigEndian.AppendUint32(nil, size), 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff)
	}
	for _, c := range []struct {
		name string
		b    []byte
		want ending // "": closed or answered
	}{
		{"key 999", raw(999, 0, nil), closed}, {"key -1", raw(-1, 0, nil), closed}, {"key 32767", raw(32767, 0, nil), closed}, {"key 52 of the quorum", raw(52, 0, nil), closed},
		{"Metadata 99", raw(3, 99, nil), closed}, {"Metadata -1", raw(3, -1, nil), closed}, {"Produce 2", raw(0, 2, nil), closed}, {"ApiVersions 99", raw(18, 99, huge), answered},
		{"ApiVersions -1", raw(18, -1, nil), answered}, {"size 0", binary.BigEndian.AppendUint32(nil, 0), closed}, {"size negative", prefix(0xffffff00), closed},
		{"size 2 GiB", prefix(1<<31 - 1), closed}, {"a frame of 2 bytes", []byte{0, 0, 0, 2, 0, 18}, closed}, {"Metadata of 2 MiB", raw(3, 1, append(huge[:0:0], make([]byte, 2<<20)...)), closed},
		{"topics huge", raw(3, 1, huge), closed}, {"topics null", raw(3, 1, minus), answered}, {"produce null topics", raw(0, 3, append([]byte{0xff, 0xff, 0, 1, 0, 0, 0, 1}, minus...)), ""},
		{"produce huge topics", raw(0, 3, append([]byte{0xff, 0xff, 0, 1, 0, 0, 0, 1}, huge...)), closed}, {"fetch empty", raw(1, 4, nil), closed}, {"half a Metadata", raw(3, 1, []byte{0, 0}), closed},
		{"a client id of -2", []byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xfe}, ""}, {"a client id beyond the frame", []byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0x7f, 0xff}, closed},
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), closed}, {"TLS", []byte{22, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3, 9, 9, 9, 9, 9, 9, 9, 9, 9}, closed},
		{"garbage behind a frame", append(versions(), 0xff, 0xff, 0xff, 0xff, 0xff), answered}, {"a fetch at -5", frame(fetch("target", -5, 1000), 1), answered}, {"a fetch of -1 bytes", frame(fetch("target", 0, -1), 1), answered},
		{"a fetch at the end of the world", frame(fetch("target", 1<<63-1, 1<<31-1), 1), answered},
	} {
		how, _, err := send(addr, c.b, 3*time.Second)
		require.NoError(t, err, c.name)
		if how == waiting || c.want != "" && how != c.want {
			t.Errorf("%s: %s", c.name, how)
		}
	}
}

func random(t *testing.T, addr string) {
	rng := rand.New(rand.NewPCG(1, 2))
	var wg sync.WaitGroup
	seeds := make(chan uint64)
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for s := range seeds {
				one := rand.New(rand.NewPCG(s, 3))
				body := make([]byte, one.IntN(300))
				for i := range body {
					if one.IntN(3) > 0 { // zeros get further
						body[i] = byte(one.Uint32())
					}
				}
				key := int16(one.IntN(80))
				if one.IntN(4) == 0 {
					key = int16(one.IntN(4))
				}
				send(addr, raw(key, int16(one.IntN(14)), body), 200*time.Millisecond)
			}
		}()
	}
	for range 4000 {
		seeds <- rng.Uint64()
	}
	close(seeds)
	wg.Wait()
}

// halfFrames are 500 clients that begin a frame and stop, and 500 that go on, a byte a second.
func halfFrames(t *testing.T, addr string) {
	began := time.Now()
	var wg sync.WaitGroup
	var mu sync.Mutex
	still := 0
	for i := range 1000 {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		whole := raw(3, 1, make([]byte, 200))
		_, err = c.Write(whole[:1+i%20])
		require.NoError(t, err)
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer c.Close()
			for at := 1 + i%20; i%2 == 1 && at < 25; at++ {
				c.SetReadDeadline(time.Now().Add(time.Second))
				if how, _ := receive(c); how == closed {
					return
				}
				if _, err := c.Write(whole[at : at+1]); err != nil {
					return
				}
			}
			c.SetReadDeadline(began.Add(20 * time.Second))
			if how, _ := receive(c); how != closed {
				mu.Lock()
				still++
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
	if still > 0 {
		t.Errorf("%d clients with half a frame are still there after 20 s", still)
	}
}

func announcements(t *testing.T, addr string) {
	begin := append(binary.BigEndian.AppendUint32(nil, 100<<20-1), 0, 0, 0, 9, 0, 0, 0, 1, 0xff, 0xff, 0)
	begin = append(begin, make([]byte, 1000)...)
	var all []net.Conn
	defer func() {
		for _, c := range all {
			c.Close()
		}
	}()
	for range *crowd {
		c, err := net.DialTimeout("tcp", addr, 5*time.Second)
		require.NoError(t, err, "after %d connections", len(all))
		all = append(all, c)
		c.SetWriteDeadline(time.Now().Add(5 * time.Second))
		c.Write(begin) // it may be cut off already
	}
	time.Sleep(time.Second)
}

// squeeze compresses with one codec.
func squeeze(t *testing.T, codec int16, plain io.Reader) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch codec {
	case 1:
		w, _ = gzip.NewWriterLevel(&out, gzip.BestSpeed)
	case 2: // snappy as Java frames it
		out.Write([]byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1})
		block := make([]byte, 1<<20)
		for {
			n, err := io.ReadFull(plain, block)
			if n > 0 {
				packed := s2.EncodeSnappy(nil, block[:n])
				out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(packed))))
				out.Write(packed)
			}
			if err != nil {
				return out.Bytes()
			}
		}
	case 3:
		w = lz4.NewWriter(&out)
	case 4:
		var err error
		w, err = zstd.NewWriter(&out, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20))
		require.NoError(t, err)
	}
	_, err := io.Copy(struct{ io.Writer }{w}, plain) // each codec its plain Write
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// zeros is n zero bytes.
func zeros(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }

type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func bombs(t *testing.T, addr string) {
	const size = 256 << 20
	varint := func(n int64) []byte { return binary.AppendVarint(nil, n) }
	// One record whose value (or key) is 256 MiB of zeros.
	value := func() io.Reader {
		body := append([]byte{0, 0, 0, 1}, varint(size)...) // a null key
		total := int64(len(body)) + size + 1
		return io.MultiReader(bytes.NewReader(append(varint(total), body...)), zeros(size), bytes.NewReader([]byte{0}))
	}
	key := func() io.Reader {
		body := append([]byte{0, 0, 0}, varint(size)...)
		total := int64(len(body)) + size + 2
		return io.MultiReader(bytes.NewReader(append(varint(total), body...)), zeros(size), bytes.NewReader([]byte{1, 0}))
	}
	// Records without end: each is 7 bytes, the batch says one.
	many := func() io.Reader { return zeros(size) }
	for codec := int16(1); codec <= 4; codec++ {
		for name, plain := range map[string]func() io.Reader{"value": value, "key": key, "zeros": many} {
			b := batch(codec, 1, squeeze(t, codec, plain()), nil)
			how, answer, err := send(addr, frame(produce("target", b), 1), 60*time.Second)
			require.NoError(t, err)
			require.Equal(t, answered, how, "a bomb of codec %d, %s", codec, name)
			code := produceError(t, answer)
			if name == "zeros" {
				require.NotZero(t, code, "a bomb of codec %d, %s", codec, name)
			}
		}
	}
	// A raw snappy block says its own length: 2 GiB, and has nothing.
	block := append(binary.AppendUvarint(nil, 1<<31-1), 0, 0)
	how, answer, err := send(addr, frame(produce("target", batch(2, 1, block, nil)), 1), 20*time.Second)
	require.NoError(t, err)
	require.Equal(t, answered, how)
	require.NotZero(t, produceError(t, answer))
}

func badBatches(t *testing.T, addr string) {
	good := record([]byte("k"), []byte("v"), 0, nil)
	for _, c := range []struct {
		name string
		b    []byte
		want int16
	}{
		{"control bits", batch(0x20, 1, good, nil), 87},
		{"a bad checksum", func() []byte { b := batch(0, 1, good, nil); b[17] ^= 1; return b }(), 2},
		{"2^31-1 records", batch(0, 1, good, func(b []byte) {
			binary.BigEndian.PutUint32(b[57:], 1<<31-1)
			binary.BigEndian.PutUint32(b[23:], 1<<31-2)
		}), 87},
		{"-1 records", batch(0, 1, good, func(b []byte) { binary.BigEndian.PutUint32(b[57:], 0xffffffff) }), 87},
		{"2^30 headers", batch(0, 1, record(nil, nil, 1<<30, nil), nil), 87},
		{"a record of 2^31-1 bytes", batch(0, 1, binary.AppendVarint(nil, 1<<31-1), nil), 87},
	} {
		how, answer, err := send(addr, frame(produce("target", c.b), 1), 10*time.Second)
		require.NoError(t, err, c.name)
		require.Equal(t, answered, how, c.name)
		require.Equal(t, c.want, produceError(t, answer), c.name)
	}
}

// deaf are 200 clients that each ask for 50 MiB, ten times, and never read.
func deaf(t *testing.T, addr string) {
	one := frame(fetch("full", 0, 50<<20), 1)
	var wg sync.WaitGroup
	var mu sync.Mutex
	still := 0
	for range 200 {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		c.(*net.TCPConn).SetReadBuffer(4096)
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer c.Close()
			for range 10 {
				c.SetWriteDeadline(time.Now().Add(10 * time.Second))
				if _, err := c.Write(one); err != nil {
					return
				}
			}
			// Cut off is what a later write tells; reading would help the broker.
			for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
				c.SetWriteDeadline(time.Now().Add(time.Second))
				if _, err := c.Write([]byte{0}); err != nil {
					if e, ok := err.(net.Error); !ok || !e.Timeout() {
						return
					}
				}
			}
			mu.Lock()
			still++
			mu.Unlock()
		}()
	}
	wg.Wait()
	if still > 0 {
		t.Errorf("%d clients that never read are still there after 30 s", still)
	}
}

// endless are 50 clients that ask as fast as they can and read nothing.
func endless(t *testing.T, addr string) {
	block := bytes.Repeat(versions(), 1000)
	var wg sync.WaitGroup
	for range 50 {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		c.(*net.TCPConn).SetReadBuffer(4096)
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer c.Close()
			c.SetWriteDeadline(time.Now().Add(3 * time.Second))
			for range 5000 {
				if _, err := c.Write(block); err != nil {
					return
				}
			}
		}()
	}
	wg.Wait()
}

func tags(t *testing.T, addr string) {
	// 2^26 tags are announced, none is there.
	body := append([]byte{2, 'x', 2, '1'}, binary.AppendUvarint(nil, 1<<26)...)
	how, _, err := send(addr, raw(18, 3, append([]byte{0}, body...)), 10*time.Second)
	require.NoError(t, err)
	require.NotEqual(t, waiting, how)
	// 100,000 tags that nobody knows, on 20 connections at once.
	var many bytes.Buffer
	many.Write([]byte{0, 2, 'x', 2, '1'})
	many.Write(binary.AppendUvarint(nil, 100_000))
	for i := range 100_000 {
		many.Write(binary.AppendUvarint(nil, uint64(1000+i)))
		many.WriteByte(0)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if how, _, err := send(addr, raw(18, 3, many.Bytes()), 20*time.Second); err != nil || how == waiting {
				t.Errorf("100,000 tags: %v, %v", how, err)
			}
		}()
	}
	wg.Wait()
}

func comeAndGo(t *testing.T, addr string) {
	for i := range 3000 {
		c, err := net.DialTimeout("tcp", addr, 5*time.Second)
		require.NoError(t, err)
		if i%3 == 0 {
			c.Write(versions())
		}
		if i%2 == 0 {
			c.(*net.TCPConn).SetLinger(0) // a reset
		}
		c.Close()
	}
}
