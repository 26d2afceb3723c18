package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"
)

// broker is where the client commands are tried: orrery serve in this process, or
// the broker named by ORRERY_TEST_BROKER, for example Apache Kafka.
func broker(t *testing.T) string {
	t.Helper()
	if at := os.Getenv("ORRERY_TEST_BROKER"); at != "" {
		return at
	}
	dir := t.TempDir() // first, so that it is removed last
	ctx, stop := context.WithCancel(context.Background())
	out, in := io.Pipe()
	var talk bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		code := run(ctx, []string{"serve", "--set", "listeners=PLAINTEXT://127.0.0.1:0", "--set", "log.dirs=" + dir}, strings.NewReader(""), in, &talk)
		in.Close() // the ready line will not come any more
		ended <- code
	}()
	t.Cleanup(func() {
		stop()
		require.Zero(t, <-ended, talk.String())
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, "serve ended before it was ready")
	return strings.TrimSpace(strings.TrimPrefix(line, "ready "))
}

func TestTheClientCommandsWorkOnABroker(t *testing.T) {
	at := broker(t)
	topic := fmt.Sprintf("cli-%d", time.Now().UnixNano())
	do := func(stdin string, code int, args ...string) (string, string) {
		t.Helper()
		got, out, talk := orrery(t, stdin, append(args, "-b", at)...)
		require.Equal(t, code, got, "orrery %s\n%s%s", strings.Join(args, " "), out, talk)
		return out, talk
	}

	out, _ := do("", 0, "topic", "create", topic, "--partitions", "3", "--config", "retention.ms=86400000")
	require.Equal(t, "created "+topic+"\n", out)
	_, talk := do("", 1, "topic", "create", topic)
	require.Contains(t, talk, "TOPIC_ALREADY_EXISTS")
	do("", 0, "topic", "create", topic, "--if-not-exists")
	out, _ = do("", 0, "topic", "list")
	require.Regexp(t, topic+` +3 +1\n`, out)

	for i, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		line := fmt.Sprintf("k%d:%s\n", i, strings.Repeat(codec, 20))
		_, talk = do(line, 0, "produce", topic, "-k", ":", "-z", codec, "-H", "codec="+codec, "--partition", "1")
		require.Equal(t, "1 record acknowledged\n", talk)
	}
	do("late\n", 0, "produce", topic, "--acks", "1", "--partition", "2")
	do("later\n", 0, "produce", topic, "--acks", "0", "--partition", "2", "--quiet")

	out, _ = do("", 0, "consume", topic, "--partitions", "1", "--format", `%o %k %s %h\n`)
	require.Equal(t, "0 k0 80 codec=none\n1 k1 80 codec=gzip\n2 k2 120 codec=snappy\n3 k3 60 codec=lz4\n4 k4 80 codec=zstd\n", out)
	out, _ = do("", 0, "consume", topic, "--partitions", "1", "--from", "-3", "--to", "4", "--format", `%o\n`)
	require.Equal(t, "2\n3\n", out)
	out, _ = do("", 0, "consume", topic, "--partitions", "1", "--from", "1h", "--count", "1", "--format", "keyed")
	require.Equal(t, "k0\t"+strings.Repeat("none", 20)+"\n", out)
	out, _ = do("", 0, "consume", topic, "--follow", "--count", "2", "--partitions", "2")
	require.Equal(t, "late\nlater\n", out)
	_, talk = do("", 1, "consume", topic, "--partitions", "9")
	require.Contains(t, talk, "has no partition 9")
	_, talk = do("", 1, "consume", topic+"-none")
	require.Contains(t, talk, "there is no such topic")

	out, _ = do("", 0, "topic", "alter", topic, "--set", "segment.bytes=104857600", "--unset", "retention.ms", "--partitions", "4")
	require.Equal(t, "changed settings of "+topic+"\n"+topic+" has 4 partitions\n", out)
	_, talk = do("", 1, "topic", "alter", topic, "--set", "no.such.setting=1")
	require.Contains(t, talk, "orrery: topic "+topic)
	out, _ = do("", 0, "topic", "describe", topic)
	require.Contains(t, out, "partitions 4")
	require.Contains(t, out, "segment.bytes")
	require.NotContains(t, out, "retention.ms")

	out, _ = do("", 0, "bench", "produce", "-t", topic, "-n", "2000", "-s", "100", "-q")
	require.Regexp(t, `records +2000\n`, out)
	out, _ = do("", 0, "bench", "consume", "-t", topic, "--json", "-q")
	require.Contains(t, out, `"records":2007`)
	out, _ = do("", 0, "bench", "latency", "-t", topic, "--rate", "500", "--for", "500ms", "--warm-up", "100ms", "-q")
	require.Regexp(t, `latency +mean`, out)

	out, _ = do("", 0, "topic", "delete", topic)
	require.Equal(t, "deleted "+topic+"\n", out)
	_, talk = do("", 1, "topic", "delete", topic)
	require.Contains(t, talk, "there is no such topic or partition")
	do("", 0, "topic", "delete", topic, "--if-exists")
}

func TestAMistakeOnTheCommandLineIsToldAndEndsWithTwo(t *testing.T) {
	cases := []struct {
		says string
		args []string
	}{
		{`unknown command "tpoic"`, []string{"tpoic"}},
		{`unknown command "crate"`, []string{"topic", "crate"}},
		{"unknown flag: --frm", []string{"consume", "t", "--frm", "1"}},
		{"write it as HOST:PORT", []string{"topic", "list", "-b", "localhost"}},
		{"write it as NAME=VALUE", []string{"topic", "create", "t", "--config", "x"}},
		{"the name is given twice", []string{"topic", "create", "t", "--config", "x=1", "--config", "x=2"}},
		{"a topic has at least one", []string{"topic", "create", "t", "--partitions", "0"}},
		{"nothing to change", []string{"topic", "alter", "t"}},
		{"give the name alone", []string{"topic", "alter", "t", "--unset", "a=1"}},
		{"give the name alone", []string{"topic", "alter", "t", "--set", "a=1", "--unset", "a"}},
		{"it is none, gzip", []string{"produce", "t", "-z", "brotli"}},
		{"it is all, 1 or 0", []string{"produce", "t", "--acks", "2"}},
		{"--header x: write it", []string{"produce", "t", "-H", "x"}},
		{"--from soon: it is earliest", []string{"consume", "t", "--from", "soon"}},
		{"--format yaml: it is text", []string{"consume", "t", "-o", "yaml"}},
		{"%z is not known", []string{"consume", "t", "-o", "%z"}},
		{"lonely %", []string{"consume", "t", "-o", "%v%"}},
		{"it is committed or uncommitted", []string{"consume", "t", "--isolation", "high"}},
		{"at least one byte", []string{"bench", "produce", "--size", "0"}},
		{"or it never ends", []string{"bench", "produce", "--records", "0"}},
		{"a rate is needed", []string{"bench", "latency", "--rate", "0"}},
	}
	for _, c := range cases {
		code, _, talk := orrery(t, "", c.args...)
		require.Equal(t, 2, code, "orrery %s: %s", strings.Join(c.args, " "), talk)
		require.Contains(t, talk, c.says)
	}
}

func TestAConsumerWhoseBrokerIsGoneDoesNotWaitForEver(t *testing.T) {
	o := consumeOptions{cluster: cluster{timeout: 50 * time.Millisecond}}
	client, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"), kgo.ConsumeTopics("t"))
	require.NoError(t, err)
	defer client.Close()
	err = o.print(context.Background(), client, "t", map[int32]reach{0: {0, 5}}, bufio.NewWriter(io.Discard), nil)
	require.ErrorContains(t, err, "nothing came for 50ms")
}

func TestWhenNobodyAnswersItIsSaidInPlainWords(t *testing.T) {
	code, _, talk := orrery(t, "", "topic", "list", "-b", "127.0.0.1:1", "--timeout", "2s")
	require.Equal(t, 1, code)
	require.Equal(t, "orrery: no broker answers at 127.0.0.1:1: connection refused; is it running? (orrery dev starts one)\n", talk)
}

func TestABrokersExplanationIsToldOnce(t *testing.T) {
	require.Equal(t, "too big (POLICY_VIOLATION)", told(kerr.PolicyViolation, "too big").Error())
	require.Equal(t, plain(kerr.PolicyViolation).Error(), told(kerr.PolicyViolation, kerr.PolicyViolation.Description).Error())
}

func TestAPatternPrintsARecord(t *testing.T) {
	r := &kgo.Record{Topic: "t", Partition: 3, Offset: 7, Key: []byte("k"), Value: []byte("väl"), Timestamp: time.UnixMilli(1234),
		Headers: []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "b"}}}
	for format, want := range map[string]string{
		"text":                       "väl\n",
		"keyed":                      "k\tväl\n",
		"raw":                        "väl",
		`%t/%p@%o %T %s [%h] %%\t\\`: "t/3@7 1234 4 [a=1,b=] %\t\\",
		"json":                       `{"topic":"t","partition":3,"offset":7,"timestamp":1234,"key":"k","value":"väl","headers":[{"name":"a","value":"1"},{"name":"b","value":null}]}` + "\n",
	} {
		write, err := parseFormat(format)
		require.NoError(t, err)
		var out bytes.Buffer
		b := bufio.NewWriter(&out)
		require.NoError(t, write(b, r))
		require.NoError(t, b.Flush())
		require.Equal(t, want, out.String(), format)
	}
}

func TestJSONLosesNoBytes(t *testing.T) {
	var out bytes.Buffer
	b := bufio.NewWriter(&out)
	require.NoError(t, writeJSON(b, &kgo.Record{Topic: "t", Value: []byte{0xff, 0}, Timestamp: time.UnixMilli(0)}))
	require.NoError(t, b.Flush())
	require.Contains(t, out.String(), `"value":null,"value_base64":"/wA="`)
}

func TestAPlaceIsClippedToThePartition(t *testing.T) {
	listed := func(n int64) kadm.ListedOffsets {
		return kadm.ListedOffsets{"t": {0: {Topic: "t", Offset: n}}}
	}
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]int64{"earliest": 10, "latest": 20, "15": 15, "5": 10, "99": 20, "-3": 17, "-99": 10} {
		p, err := parsePlace("--from", text, now)
		require.NoError(t, err)
		at, err := p.offsets(context.Background(), nil, "t", listed(10), listed(20))
		require.NoError(t, err)
		require.Equal(t, want, at[0], text)
	}
	for text, want := range map[string]time.Time{"15m": now.Add(-15 * time.Minute), "2026-01-30T00:00:00Z": now.Add(-36 * time.Hour)} {
		p, err := parsePlace("--from", text, now)
		require.NoError(t, err)
		require.Equal(t, place{placeTime, want.UnixMilli()}, p, text)
	}
}

func TestLinesKeepTheirBytes(t *testing.T) {
	lines := newLineReader(strings.NewReader("a\n\nb\r\n"+strings.Repeat("x", 100_000)+"\nend"), 100_000)
	for _, want := range []string{"a", "", "b", strings.Repeat("x", 100_000), "end"} {
		got, err := lines.next()
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	lines = newLineReader(strings.NewReader("ok\ntoo long\n"), 5)
	_, err := lines.next()
	require.NoError(t, err)
	_, err = lines.next()
	require.EqualError(t, err, "line 2 is longer than 5 bytes (--line-max)")
}

func TestAQuantileIsCloseToTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		durations := rapid.SliceOfN(rapid.Int64Range(0, int64(time.Hour)), 1, 200).Draw(t, "durations")
		permille := rapid.Int64Range(1, 1000).Draw(t, "permille")
		var h histogram
		for _, d := range durations {
			h.add(time.Duration(d))
		}
		got := h.quantile(permille)
		below := int64(0)
		for _, d := range durations {
			if time.Duration(d) <= got {
				below++
			}
		}
		if below*1000 < permille*int64(len(durations)) {
			t.Fatalf("only %d of %d are within the quantile %d", below, len(durations), permille)
		}
		far := time.Duration(float64(got) / (1 + 2.0/subBuckets))
		beyond := int64(0)
		for _, d := range durations {
			if time.Duration(d) < far {
				beyond++
			}
		}
		if beyond*1000 >= permille*int64(len(durations)) && far > 0 {
			t.Fatalf("%v is too large for quantile %d: %d of %d lie below %v", got, permille, beyond, len(durations), far)
		}
	})
}
