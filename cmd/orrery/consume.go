package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// consumeOptions are consume's flags.
type consumeOptions struct {
	cluster
	from, to   string
	format     string
	follow     bool
	count      int64
	partitions []int32
	isolation  string
}

func consumeCommand() *cobra.Command {
	var o consumeOptions
	cmd := &cobra.Command{
		Use:   "consume TOPIC",
		Short: "Print a topic's records",
		Long: `consume prints the records of a topic and ends where the topic ended when it
began; with --follow it waits for more.

A place (--from, --to) is one of
  earliest, latest
  100                    an offset, in each partition
  -10                    so many records before the end, in each partition
  2026-01-31T12:00:00Z   the first record at or after a time; also 15m: so long ago
--to is exclusive.

A format is text (the value), keyed (key, tab, value), json (one object a line),
raw (values with nothing between them), or a pattern with
  %v value  %k key  %h headers  %t topic  %p partition  %o offset
  %T timestamp in ms  %s size of the value  %% a percent sign  \n \t`,
		Example: `  orrery consume greetings
  orrery consume scores --from latest --follow --format '%p:%o %k=%v\n'
  orrery consume scores --from 15m --format json --count 10 --partitions 0,1`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	o.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.from, "from", "earliest", "where to begin")
	f.StringVar(&o.to, "to", "latest", "where to end (not with --follow)")
	f.StringVarP(&o.format, "format", "o", "text", "text, keyed, json, raw or a pattern")
	f.BoolVarP(&o.follow, "follow", "f", false, "go on when the end is reached")
	f.Int64VarP(&o.count, "count", "n", 0, "end after so many records (0: no limit)")
	f.Int32SliceVarP(&o.partitions, "partitions", "p", nil, "only these partitions")
	f.StringVar(&o.isolation, "isolation", "committed", "committed or uncommitted: whether records of open and aborted transactions are shown")
	return cmd
}

// reach is what is left to read of one partition.
type reach struct{ next, end int64 }

// endless is the end of what is followed.
const endless = int64(1) << 62

func (o *consumeOptions) run(ctx context.Context, topic string, out io.Writer) error {
	write, err := parseFormat(o.format)
	if err != nil {
		return err
	}
	from, err := parsePlace("--from", o.from, time.Now())
	if err != nil {
		return err
	}
	to, err := parsePlace("--to", o.to, time.Now())
	if err != nil {
		return err
	}
	level, err := o.level()
	if err != nil {
		return err
	}
	admin, err := o.admin(ctx)
	if err != nil {
		return err
	}
	left, err := o.resolve(ctx, admin, topic, from, to)
	admin.Close()
	if err != nil {
		return err
	}
	starts := make(map[int32]kgo.Offset)
	for p, r := range left {
		starts[p] = kgo.NewOffset().At(r.next)
	}
	if len(starts) == 0 {
		return nil // the topic, or the part asked for, is empty
	}
	client, err := o.open(ctx, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: starts}),
		kgo.FetchIsolationLevel(level), kgo.KeepControlRecords(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer client.Close()
	buffered := bufio.NewWriterSize(out, 64<<10)
	err = o.print(ctx, client, topic, left, buffered, write)
	return errors.Join(err, buffered.Flush())
}

func (o *consumeOptions) level() (kgo.IsolationLevel, error) {
	switch o.isolation {
	case "committed":
		return kgo.ReadCommitted(), nil
	case "uncommitted":
		return kgo.ReadUncommitted(), nil
	}
	return kgo.IsolationLevel{}, usage("--isolation %s: it is committed or uncommitted", o.isolation)
}

// resolve turns places into offsets; partitions with nothing to read are left out.
func (o *consumeOptions) resolve(ctx context.Context, admin *kadm.Client, topic string, from, to place) (map[int32]reach, error) {
	starts, err := admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, plain(err)
	}
	ends, err := o.ends(ctx, admin, topic)
	if err != nil {
		return nil, err
	}
	if len(ends[topic]) == 0 {
		return nil, fmt.Errorf("topic %s: there is no such topic", topic)
	}
	begin, err := from.offsets(ctx, admin, topic, starts, ends)
	if err != nil {
		return nil, err
	}
	finish, err := to.offsets(ctx, admin, topic, starts, ends)
	if err != nil {
		return nil, err
	}
	for _, p := range o.partitions {
		if _, ok := ends.Lookup(topic, p); !ok {
			return nil, fmt.Errorf("topic %s has no partition %d", topic, p)
		}
	}
	left := make(map[int32]reach)
	for p, end := range ends[topic] {
		if end.Err != nil && p < 0 {
			return nil, fmt.Errorf("topic %s: %w", topic, plain(end.Err))
		}
		if end.Err != nil {
			return nil, fmt.Errorf("topic %s partition %d: %w", topic, p, plain(end.Err))
		}
		if len(o.partitions) > 0 && !slices.Contains(o.partitions, p) {
			continue
		}
		r := reach{begin[p], min(finish[p], end.Offset)}
		if o.follow {
			r.end = endless
		}
		if r.next < r.end {
			left[p] = r
		}
	}
	return left, nil
}

// ends are the offsets up to which this consumer may read.
func (o *consumeOptions) ends(ctx context.Context, admin *kadm.Client, topic string) (kadm.ListedOffsets, error) {
	list := admin.ListEndOffsets
	if o.isolation == "committed" {
		list = admin.ListCommittedOffsets
	}
	ends, err := list(ctx, topic)
	if err != nil {
		return nil, plain(err)
	}
	return ends, nil
}

// print writes records until nothing is left to read.
func (o *consumeOptions) print(ctx context.Context, client *kgo.Client, topic string, left map[int32]reach, out *bufio.Writer, write recordFormat) error {
	printed := int64(0)
	for len(left) > 0 {
		fetches, err := o.poll(ctx, client, o.follow)
		if ctx.Err() != nil {
			return interrupted(o.follow)
		}
		if err != nil {
			return err
		}
		for it := fetches.RecordIter(); !it.Done(); {
			r := it.Next()
			at, wanted := left[r.Partition]
			if !wanted {
				continue
			}
			if r.Offset < at.end && !r.Attrs.IsControl() {
				if err := write(out, r); err != nil {
					return err
				}
				if printed++; printed == o.count {
					return nil
				}
			}
			if at.next = r.Offset + 1; at.next >= at.end {
				delete(left, r.Partition)
				client.PauseFetchPartitions(map[string][]int32{topic: {r.Partition}})
			} else {
				left[r.Partition] = at
			}
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// interrupted: a consumer that follows is ended by Ctrl-C, and that is no failure.
func interrupted(follow bool) error {
	if follow {
		return nil
	}
	return errors.New("interrupted")
}

// poll waits for records: for ever when the end is followed; else they are known
// to be there, and when none comes within the timeout something is wrong. The
// client itself would go on trying in silence.
func (c *cluster) poll(ctx context.Context, client *kgo.Client, follow bool) (kgo.Fetches, error) {
	if follow {
		fetches := client.PollFetches(ctx)
		return fetches, fetchError(fetches)
	}
	patient, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	fetches := client.PollFetches(patient)
	if fetches.NumRecords() == 0 && patient.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("nothing came for %v, though the end is not reached: the broker is gone, or the records were deleted meanwhile", c.timeout)
	}
	return fetches, fetchError(fetches)
}

// fetchError is the first error of a poll.
func fetchError(fetches kgo.Fetches) error {
	var first error
	fetches.EachError(func(topic string, partition int32, err error) {
		if first == nil {
			first = fmt.Errorf("topic %s partition %d: %w", topic, partition, plain(err))
		}
	})
	return first
}
