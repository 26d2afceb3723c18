package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
)

// produceOptions are produce's flags.
type produceOptions struct {
	cluster
	keySeparator string
	nullValue    string
	headers      []string
	compression  string
	acks         string
	partition    int32
	lineMax      int
	quiet        bool
}

func produceCommand() *cobra.Command {
	var o produceOptions
	cmd := &cobra.Command{
		Use:   "produce TOPIC",
		Short: "Send each line of stdin as a record",
		Long: `produce sends each line of stdin as a record and ends when all are acknowledged.
With acks=all, the default, a record that the network sends twice is stored once.`,
		Example: `  echo hello | orrery produce greetings
  printf 'alice:42\nbob:7\n' | orrery produce scores --key-separator : --compression zstd --header source=shell`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args[0], cmd.InOrStdin(), cmd.ErrOrStderr())
		},
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.StringVarP(&o.keySeparator, "key-separator", "k", "", `what stands between key and value in a line (\t for a tab); without it records have no key`)
	f.StringVar(&o.nullValue, "null", "", "a value that stands for null (a tombstone)")
	f.StringArrayVarP(&o.headers, "header", "H", nil, "a header of every record, NAME=VALUE; may be repeated")
	f.StringVarP(&o.compression, "compression", "z", "none", "none, gzip, snappy, lz4 or zstd")
	f.StringVar(&o.acks, "acks", "all", "all, 1 or 0")
	f.Int32VarP(&o.partition, "partition", "p", -1, "partition to send to (-1: by the key's hash as in Kafka; without a key, any)")
	f.IntVar(&o.lineMax, "line-max", 16<<20, "the longest line taken, in bytes")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "say nothing when all went well")
	return cmd
}

func (o *produceOptions) run(ctx context.Context, topic string, in io.Reader, talk io.Writer) error {
	headers, err := headerList(o.headers)
	if err != nil {
		return err
	}
	opts, err := o.clientOptions(topic)
	if err != nil {
		return err
	}
	client, err := o.open(ctx, opts...)
	if err != nil {
		return err
	}
	defer client.Close()

	var acknowledged atomic.Int64
	var refused firstError
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines, sent := newLineReader(in, o.lineMax), 0
	for refused.get() == nil {
		line, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			refused.set(err)
			break
		}
		record, err := o.record(line, headers)
		if err != nil {
			refused.set(fmt.Errorf("line %d: %w", sent+1, err))
			break
		}
		sent++
		client.Produce(ctx, record, func(_ *kgo.Record, err error) {
			switch {
			case err == nil:
				acknowledged.Add(1)
			case strings.Contains(err.Error(), "invalid record partitioning choice"): // kgo's, of a partitioner
				refused.set(fmt.Errorf("it has no partition %d", o.partition))
			default:
				refused.set(plain(err))
			}
		})
	}
	if err := client.Flush(ctx); err != nil {
		refused.set(plain(err))
	}
	if err := refused.get(); err != nil {
		return fmt.Errorf("topic %s: %d of %d records acknowledged, then: %w", topic, acknowledged.Load(), sent, err)
	}
	if !o.quiet {
		word := "acknowledged"
		if o.acks == "0" {
			word = "sent, nobody says whether they arrived"
		}
		fmt.Fprintf(talk, "%s %s\n", counted(acknowledged.Load(), "record"), word)
	}
	return nil
}

func (o *produceOptions) clientOptions(topic string) ([]kgo.Opt, error) {
	acks, err := acksByName(o.acks)
	if err != nil {
		return nil, err
	}
	codec, err := codecByName(o.compression)
	if err != nil {
		return nil, err
	}
	opts := []kgo.Opt{
		kgo.DefaultProduceTopic(topic), kgo.AllowAutoTopicCreation(),
		kgo.RequiredAcks(acks), kgo.ProducerBatchCompression(codec), kgo.ProducerBatchMaxBytes(1 << 20),
		kgo.RecordDeliveryTimeout(o.timeout),
	}
	if acks != kgo.AllISRAcks() {
		opts = append(opts, kgo.DisableIdempotentWrite())
	}
	if o.partition >= 0 {
		opts = append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	return opts, nil
}

// record is one line as a record. The line's bytes become the record's.
func (o *produceOptions) record(line []byte, headers []kgo.RecordHeader) (*kgo.Record, error) {
	r := &kgo.Record{Value: line, Headers: headers, Partition: max(o.partition, 0)}
	if o.keySeparator != "" {
		separator := strings.ReplaceAll(o.keySeparator, `\t`, "\t")
		key, value, ok := bytes.Cut(line, []byte(separator))
		if !ok {
			return nil, fmt.Errorf("there is no key separator %q in it", separator)
		}
		r.Key, r.Value = key, value
	}
	if o.nullValue != "" && string(r.Value) == o.nullValue {
		r.Value = nil
	}
	return r, nil
}

func headerList(pairs []string) ([]kgo.RecordHeader, error) {
	var headers []kgo.RecordHeader
	for _, p := range pairs {
		name, value, ok := strings.Cut(p, "=")
		if !ok {
			return nil, usage("--header %s: write it as NAME=VALUE", p)
		}
		headers = append(headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	return headers, nil
}

// firstError keeps the first of the errors that callbacks bring.
type firstError struct {
	mu  sync.Mutex
	err error
}

func (f *firstError) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

func (f *firstError) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// lineReader gives the lines of a stream, each in memory of its own.
type lineReader struct {
	in   *bufio.Reader
	most int
	n    int
}

func newLineReader(in io.Reader, most int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, 64<<10), most: most}
}

// next is the next line without its end; the last one needs no end.
func (l *lineReader) next() ([]byte, error) {
	l.n++
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		line = append(line, part...)
		if len(bytes.TrimSuffix(line, []byte("\n"))) > l.most {
			return nil, fmt.Errorf("line %d is longer than %d bytes (--line-max)", l.n, l.most)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil, err == io.EOF && len(line) > 0:
			return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
		default:
			return nil, err
		}
	}
}
