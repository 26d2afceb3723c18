package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/orrery-log/orrery/core/env"
	"github.com/orrery-log/orrery/disk"
)

func diskCommand() *cobra.Command {
	return group("disk", "Look at a data directory, and accept what it has lost", "",
		"  orrery disk inspect ./data\n  orrery disk accept-loss ./data payments 3",
		diskInspectCommand(), diskAcceptCommand())
}

func diskInspectCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "inspect DIR",
		Short: "Show what a data directory holds and whether it is sound",
		Long: `inspect reads every byte of a data directory: the journal's frames and entries, the
segments that checkpoints count on, their batches and footers. It changes nothing
and may run beside a broker, whose tail then moves while it looks.

Exit codes: 0 sound, 1 damaged, 2 DIR is no data directory or the command line is
wrong. A torn tail, which the next start cuts off, is no damage.`,
		Example: `  orrery disk inspect ./data
  orrery disk inspect ./data --json | jq .journal`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := disk.Inspect(args[0])
			if err != nil {
				return exitWith(exitUsage, err)
			}
			if asJSON {
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetIndent("", "  ")
				if err := e.Encode(report); err != nil {
					return err
				}
			} else {
				printReport(cmd.OutOrStdout(), report)
			}
			if !report.Sound {
				return exitWith(exitFailed, nil)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printReport(w io.Writer, r *disk.Report) {
	j := &r.Journal
	fmt.Fprintf(w, "%s  format %d  cluster %s  node %s\n", r.Dir, r.Format, orDash(r.Meta["cluster.id"]), orDash(r.Meta["node.id"]))
	if r.InUseBy != "" {
		fmt.Fprintf(w, "in use by process %s: the end moves while this looks\n", r.InUseBy)
	}
	fmt.Fprintf(w, "journal  %s  %s  %s  %d entries  cut at %d  last %d\n", counted(j.Files, "file"), counted(j.Bytes, "byte"), counted(j.Frames, "frame"), j.Entries, j.Cut, j.Last)
	if j.Torn > 0 {
		fmt.Fprintf(w, "journal  %d bytes at the end are a torn write, which the next start cuts off\n", j.Torn)
	}
	for _, d := range j.Damage {
		fmt.Fprintf(w, "journal  DAMAGED: entries after %d%s are lost, of %s\n", d.After, upto(d.Upto), logNames(d.Logs))
	}
	for _, name := range j.Strays {
		fmt.Fprintf(w, "journal  %s is not ours: the next start moves it aside\n", name)
	}
	for _, name := range r.Accepted {
		fmt.Fprintf(w, "accepted  the loss of %s, at the next start\n", name)
	}
	printLogs(w, r)
	if r.Sound {
		fmt.Fprintln(w, "sound")
	} else {
		fmt.Fprintln(w, "DAMAGED")
	}
}

func printLogs(w io.Writer, r *disk.Report) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TOPIC\tPARTITION\tSTART\tSTORED\tEND\tCHECKPOINT\tENTRIES\tSEGMENTS\tBYTES\tSTATE")
	for i := range r.Logs {
		l := &r.Logs[i]
		bytes, faults := int64(0), 0
		for _, s := range l.Segments {
			bytes += s.Bytes
			if s.Fault != "" {
				faults++
			}
		}
		state := "sound"
		if faults > 0 || l.Hurt > 0 || l.Lost > 0 {
			state = fmt.Sprintf("DAMAGED: %d segments, %d entries, %d records known to be lost", faults, l.Hurt, l.Lost)
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", l.Topic, l.Partition, l.Start, l.Stored, l.End, l.Checkpoint, l.Entries, len(l.Segments), bytes, state)
	}
	t.Flush()
	for i := range r.Logs {
		for _, s := range r.Logs[i].Segments {
			if s.Fault != "" {
				fmt.Fprintf(w, "segment %s (%s)  DAMAGED: %s\n", s.File, s.State, s.Fault)
			}
		}
	}
}

func upto(seq env.Seq) string {
	if seq == 0 {
		return ""
	}
	return fmt.Sprintf(" and before %d", seq)
}

func logNames(names []string) string {
	switch len(names) {
	case 0:
		return "any log"
	case 1:
		return names[0]
	default:
		return fmt.Sprintf("%s and %d more logs", names[0], len(names)-1)
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func diskAcceptCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "accept-loss DIR TOPIC PARTITION",
		Short: "Accept that records of a damaged log are lost, so that it goes on",
		Long: `accept-loss leaves a note in a data directory. The next start reads it, says in the
journal that what is damaged of this log is lost, and takes produces to it again.
TOPIC is a name or a topic id. A note is used up by one start.
A log of which nothing is left begins again at offset 0.`,
		Example: `  orrery disk accept-loss ./data payments 3
  orrery disk accept-loss ./data __cluster_metadata 0`,
		Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			partition, err := strconv.ParseInt(args[2], 10, 32)
			if err != nil || partition < 0 {
				return usage("%q is not a partition", args[2])
			}
			if _, err := os.Stat(args[0]); err != nil {
				return exitWith(exitUsage, err)
			}
			report, err := disk.Inspect(args[0])
			if err != nil {
				return exitWith(exitUsage, err)
			}
			topic, ok := report.FindTopic(args[1])
			if !ok {
				return usage("no topic %q in %s: give its name as `orrery disk inspect` prints it, or its id", args[1], args[0])
			}
			if err := disk.AcceptLoss(args[0], env.LogID{Topic: topic, Partition: int32(partition)}); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "accepted; it takes effect when the broker starts\n")
			return nil
		},
	}
}
