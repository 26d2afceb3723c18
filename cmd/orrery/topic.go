package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func topicCommand() *cobra.Command {
	return group("topic", "Create, list, describe, alter and delete topics",
		"topic works on the topics of any Kafka-protocol cluster.",
		`  orrery topic create orders --partitions 6 --config retention.ms=86400000
  orrery topic describe orders`,
		topicCreateCommand(), topicListCommand(), topicDescribeCommand(), topicAlterCommand(), topicDeleteCommand())
}

func topicCreateCommand() *cobra.Command {
	var (
		at          cluster
		partitions  int32
		replicas    int16
		configs     []string
		ifNotExists bool
	)
	cmd := &cobra.Command{
		Use:   "create TOPIC...",
		Short: "Create topics",
		Example: `  orrery topic create orders
  orrery topic create orders --partitions 6 --config retention.ms=86400000 --config durability=written`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, topics []string) error {
			set, err := settings("--config", configs)
			if err != nil {
				return err
			}
			if partitions == 0 || partitions < -1 {
				return usage("--partitions %d: a topic has at least one; -1 leaves it to the broker", partitions)
			}
			admin, err := at.admin(cmd.Context())
			if err != nil {
				return err
			}
			defer admin.Close()
			answers, err := admin.CreateTopics(cmd.Context(), partitions, replicas, set, topics...)
			if err != nil {
				return plain(err)
			}
			return each(topics, func(topic string) error {
				a, ok := answers[topic]
				switch {
				case !ok:
					return fmt.Errorf("topic %s: the broker did not answer for it", topic)
				case errors.Is(a.Err, kerr.TopicAlreadyExists) && ifNotExists:
					fmt.Fprintf(cmd.OutOrStdout(), "%s exists already\n", topic)
				case a.Err != nil:
					return fmt.Errorf("topic %s: %w", topic, told(a.Err, a.ErrMessage))
				default:
					fmt.Fprintf(cmd.OutOrStdout(), "created %s\n", topic)
				}
				return nil
			})
		},
	}
	at.flags(cmd)
	cmd.Flags().Int32VarP(&partitions, "partitions", "p", -1, "number of partitions (-1: the broker's num.partitions)")
	cmd.Flags().Int16VarP(&replicas, "replication-factor", "r", -1, "copies of each partition (-1: the broker's default)")
	cmd.Flags().StringArrayVarP(&configs, "config", "c", nil, "a setting of the topic, NAME=VALUE; may be repeated")
	cmd.Flags().BoolVar(&ifNotExists, "if-not-exists", false, "a topic that exists already is no error")
	return cmd
}

// each does something for every topic and goes on after an error, so that one
// bad name does not hide the rest; the errors come together at the end.
func each(topics []string, do func(topic string) error) error {
	var failed []error
	for _, topic := range topics {
		if err := do(topic); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

func topicListCommand() *cobra.Command {
	var (
		at       cluster
		internal bool
	)
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List topics",
		Example: `  orrery topic list`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			admin, err := at.admin(cmd.Context())
			if err != nil {
				return err
			}
			defer admin.Close()
			topics, err := admin.ListTopicsWithInternal(cmd.Context())
			if err != nil {
				return plain(err)
			}
			t := table(cmd.OutOrStdout())
			fmt.Fprintln(t, "TOPIC\tPARTITIONS\tREPLICAS")
			for _, d := range topics.Sorted() {
				if d.IsInternal && !internal {
					continue
				}
				fmt.Fprintf(t, "%s\t%d\t%d\n", d.Topic, len(d.Partitions), d.Partitions.NumReplicas())
			}
			return t.Flush()
		},
	}
	at.flags(cmd)
	cmd.Flags().BoolVar(&internal, "internal", false, "the cluster's own topics too")
	return cmd
}

func table(out io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(out, 0, 0, 2, ' ', 0) }

func topicDescribeCommand() *cobra.Command {
	var (
		at  cluster
		all bool
	)
	cmd := &cobra.Command{
		Use:     "describe TOPIC...",
		Short:   "Show a topic's partitions and settings",
		Example: `  orrery topic describe orders --all`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, topics []string) error {
			admin, err := at.admin(cmd.Context())
			if err != nil {
				return err
			}
			defer admin.Close()
			details, err := admin.ListTopicsWithInternal(cmd.Context(), topics...)
			if err != nil {
				return plain(err)
			}
			return each(topics, func(topic string) error {
				d, ok := details[topic]
				if ok && d.Err != nil {
					return fmt.Errorf("topic %s: %w", topic, plain(d.Err))
				}
				if !ok {
					return fmt.Errorf("topic %s does not exist", topic)
				}
				return describeTopic(cmd.Context(), cmd.OutOrStdout(), admin, d, all)
			})
		},
	}
	at.flags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "settings that stand at their default too")
	return cmd
}

func describeTopic(ctx context.Context, out io.Writer, admin *kadm.Client, d kadm.TopicDetail, all bool) error {
	starts, err := admin.ListStartOffsets(ctx, d.Topic)
	if err != nil {
		return plain(err)
	}
	ends, err := admin.ListEndOffsets(ctx, d.Topic)
	if err != nil {
		return plain(err)
	}
	fmt.Fprintf(out, "topic %s  id %s  partitions %d\n", d.Topic, base64.RawURLEncoding.EncodeToString(d.ID[:]), len(d.Partitions))
	t := table(out)
	fmt.Fprintln(t, "PARTITION\tLEADER\tEPOCH\tREPLICAS\tIN SYNC\tSTART\tEND")
	for _, p := range d.Partitions.Sorted() {
		start, _ := starts.Lookup(d.Topic, p.Partition)
		end, _ := ends.Lookup(d.Topic, p.Partition)
		fmt.Fprintf(t, "%d\t%d\t%d\t%s\t%s\t%s\t%s\n", p.Partition, p.Leader, p.LeaderEpoch, join(p.Replicas), join(p.ISR), shown(start), shown(end))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	configs, err := admin.DescribeTopicConfigs(ctx, d.Topic)
	if err != nil {
		return plain(err)
	}
	for _, rc := range configs {
		if rc.Err != nil {
			return fmt.Errorf("settings of topic %s: %w", d.Topic, told(rc.Err, rc.ErrMessage))
		}
		slices.SortFunc(rc.Configs, func(a, b kadm.Config) int { return strings.Compare(a.Key, b.Key) })
		t := table(out)
		for _, c := range rc.Configs {
			if all || c.Source != kmsg.ConfigSourceDefaultConfig {
				fmt.Fprintf(t, "%s\t%s\t%s\n", c.Key, c.MaybeValue(), strings.ToLower(c.Source.String()))
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// shown is an offset, or why there is none.
func shown(o kadm.ListedOffset) string {
	if o.Err != nil {
		return plain(o.Err).Error()
	}
	return fmt.Sprint(o.Offset)
}

func join(ids []int32) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ids)), ","), "[]")
}

func topicAlterCommand() *cobra.Command {
	var (
		at         cluster
		partitions int
		set        []string
		unset      []string
	)
	cmd := &cobra.Command{
		Use:   "alter TOPIC...",
		Short: "Change a topic's settings or add partitions",
		Example: `  orrery topic alter orders --set retention.ms=3600000 --unset segment.bytes
  orrery topic alter orders --partitions 12`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, topics []string) error {
			changes, err := alterations(set, unset)
			if err != nil {
				return err
			}
			if partitions <= 0 && cmd.Flags().Changed("partitions") {
				return usage("--partitions %d: a topic has at least one", partitions)
			}
			if len(changes) == 0 && partitions == 0 {
				return usage("nothing to change: give --set, --unset or --partitions")
			}
			admin, err := at.admin(cmd.Context())
			if err != nil {
				return err
			}
			defer admin.Close()
			return alterTopics(cmd.Context(), cmd.OutOrStdout(), admin, topics, changes, partitions)
		},
	}
	at.flags(cmd)
	cmd.Flags().IntVarP(&partitions, "partitions", "p", 0, "new number of partitions; it can only grow")
	cmd.Flags().StringArrayVar(&set, "set", nil, "a setting, NAME=VALUE; may be repeated")
	cmd.Flags().StringArrayVar(&unset, "unset", nil, "a setting that goes back to its default; may be repeated")
	return cmd
}

func alterations(set, unset []string) ([]kadm.AlterConfig, error) {
	values, err := settings("--set", set)
	if err != nil {
		return nil, err
	}
	var changes []kadm.AlterConfig
	for _, pair := range set { // in the order given
		name, _, _ := strings.Cut(pair, "=")
		changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: values[name]})
	}
	for _, name := range unset {
		if strings.Contains(name, "=") || values[name] != nil {
			return nil, usage("--unset %s: give the name alone, and not to --set as well", name)
		}
		changes = append(changes, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: name})
	}
	return changes, nil
}

func alterTopics(ctx context.Context, out io.Writer, admin *kadm.Client, topics []string, changes []kadm.AlterConfig, partitions int) error {
	var failed []error
	if len(changes) > 0 {
		answers, err := admin.AlterTopicConfigs(ctx, changes, topics...)
		if err != nil {
			return plain(err)
		}
		for _, a := range answers {
			if a.Err != nil {
				failed = append(failed, fmt.Errorf("topic %s: %w", a.Name, told(a.Err, a.ErrMessage)))
			} else {
				fmt.Fprintf(out, "changed settings of %s\n", a.Name)
			}
		}
	}
	if partitions > 0 {
		answers, err := admin.UpdatePartitions(ctx, partitions, topics...)
		if err != nil {
			return errors.Join(append(failed, plain(err))...)
		}
		for _, a := range answers.Sorted() {
			if a.Err != nil {
				failed = append(failed, fmt.Errorf("topic %s: %w", a.Topic, told(a.Err, a.ErrMessage)))
			} else {
				fmt.Fprintf(out, "%s has %d partitions\n", a.Topic, partitions)
			}
		}
	}
	return errors.Join(failed...)
}

func topicDeleteCommand() *cobra.Command {
	var (
		at       cluster
		ifExists bool
	)
	cmd := &cobra.Command{
		Use:     "delete TOPIC...",
		Short:   "Delete topics and all their records",
		Example: `  orrery topic delete orders --if-exists`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, topics []string) error {
			admin, err := at.admin(cmd.Context())
			if err != nil {
				return err
			}
			defer admin.Close()
			answers, err := admin.DeleteTopics(cmd.Context(), topics...)
			if err != nil {
				return plain(err)
			}
			return each(topics, func(topic string) error {
				a, ok := answers[topic]
				switch {
				case !ok:
					return fmt.Errorf("topic %s: the broker did not answer for it", topic)
				case errors.Is(a.Err, kerr.UnknownTopicOrPartition) && ifExists:
					fmt.Fprintf(cmd.OutOrStdout(), "%s does not exist\n", topic)
				case a.Err != nil:
					return fmt.Errorf("topic %s: %w", topic, told(a.Err, a.ErrMessage))
				default:
					fmt.Fprintf(cmd.OutOrStdout(), "deleted %s\n", topic)
				}
				return nil
			})
		},
	}
	at.flags(cmd)
	cmd.Flags().BoolVar(&ifExists, "if-exists", false, "a topic that does not exist is no error")
	return cmd
}
