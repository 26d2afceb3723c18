package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// cluster is what every client command is told about where to go.
type cluster struct {
	bootstrap []string
	timeout   time.Duration
}

func (c *cluster) flags(cmd *cobra.Command) {
	cmd.Flags().StringSliceVarP(&c.bootstrap, "bootstrap-server", "b", []string{"localhost:9092"}, "brokers to ask first, HOST:PORT")
	cmd.Flags().DurationVar(&c.timeout, "timeout", 15*time.Second, "how long a request may take, retries included")
}

// open returns a client that has spoken with a broker once, so that "nobody is
// there" is said at once and in plain words.
func (c *cluster) open(ctx context.Context, opts ...kgo.Opt) (*kgo.Client, error) {
	for _, s := range c.bootstrap {
		if _, _, err := net.SplitHostPort(s); err != nil {
			return nil, usage("--bootstrap-server %s: write it as HOST:PORT, as in localhost:9092", s)
		}
	}
	opts = append([]kgo.Opt{
		kgo.SeedBrokers(c.bootstrap...),
		kgo.ClientID("orrery-cli"),
		kgo.DisableClientMetrics(),
		kgo.RetryTimeout(c.timeout),
		kgo.DialTimeout(min(c.timeout, 5*time.Second)),
	}, opts...)
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, usage("these settings do not go together: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if err := client.Ping(ctx); err != nil {
		client.Close()
		return nil, fmt.Errorf("no broker answers at %s: %w; is it running? (orrery dev starts one)", strings.Join(c.bootstrap, ", "), plain(err))
	}
	return client, nil
}

// admin is open for administration.
func (c *cluster) admin(ctx context.Context) (*kadm.Client, error) {
	client, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	admin := kadm.NewClient(client)
	admin.SetTimeoutMillis(int32(c.timeout.Milliseconds()))
	return admin, nil
}

// plain says what an error means to a person who does not know the protocol.
// Kafka's own name stays in it, because that is what one searches for.
func plain(err error) error {
	var code *kerr.Error
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return errors.New("there is no such topic or partition (UNKNOWN_TOPIC_OR_PARTITION)")
	case errors.Is(err, kerr.InvalidRecord):
		return errors.New("the broker refuses a record, as one without a key where cleanup.policy is compact (INVALID_RECORD)")
	case errors.Is(err, kerr.MessageTooLarge):
		return errors.New("a record or batch is larger than the topic's max.message.bytes (MESSAGE_TOO_LARGE)")
	case errors.As(err, &code):
		return fmt.Errorf("%s (%s)", strings.TrimSuffix(code.Description, "."), code.Message)
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("connection refused")
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("it took too long")
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	case errors.Is(err, kgo.ErrRecordTimeout), errors.Is(err, kgo.ErrRecordRetries):
		return errors.New("no answer in time, it may or may not have been written")
	}
	return err
}

// told is what the broker itself says of an error, where it says something: the
// general words of its code are vaguer, and at times about another case.
func told(err error, message string) error {
	var code *kerr.Error
	switch {
	case message == "", errors.Is(err, kerr.UnknownTopicOrPartition):
		return plain(err)
	case errors.As(err, &code):
		return fmt.Errorf("%s (%s)", strings.TrimSuffix(message, "."), code.Message)
	}
	return fmt.Errorf("%w: %s", plain(err), message)
}

// counted is a number of things.
func counted[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// settings reads NAME=VALUE pairs.
func settings(flag string, pairs []string) (map[string]*string, error) {
	all := make(map[string]*string, len(pairs))
	for _, p := range pairs {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, usage("%s %s: write it as NAME=VALUE", flag, p)
		}
		if _, twice := all[name]; twice {
			return nil, usage("%s %s: the name is given twice", flag, p)
		}
		all[name] = &value
	}
	return all, nil
}

// acksByName reads --acks.
func acksByName(name string) (kgo.Acks, error) {
	switch name {
	case "all", "-1":
		return kgo.AllISRAcks(), nil
	case "1":
		return kgo.LeaderAck(), nil
	case "0":
		return kgo.NoAck(), nil
	}
	return kgo.Acks{}, usage("--acks %s: it is all, 1 or 0", name)
}

// codecByName reads --compression.
func codecByName(name string) (kgo.CompressionCodec, error) {
	switch name {
	case "none":
		return kgo.NoCompression(), nil
	case "gzip":
		return kgo.GzipCompression(), nil
	case "snappy":
		return kgo.SnappyCompression(), nil
	case "lz4":
		return kgo.Lz4Compression(), nil
	case "zstd":
		return kgo.ZstdCompression(), nil
	}
	return kgo.CompressionCodec{}, usage("--compression %s: it is none, gzip, snappy, lz4 or zstd", name)
}
