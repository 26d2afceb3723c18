package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/orrery-log/orrery/linearizability"
)

// exitUndecided: check can not say whether the history holds. Never a pass.
const exitUndecided = 4

func checkCommand() *cobra.Command {
	var (
		expires, relaxed []string
		fetchEnds        bool
		examples         int
		porcupine        time.Duration
		html, of         string
		partition        int32
	)
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Judge a history of what clients of a Kafka-protocol log saw",
		Long: `check reads a history (JSON lines, one event a line; "-" is stdin) of produces,
polls and reads of the end, recorded from any Kafka-protocol broker, and says
whether the log kept its promises: nothing acknowledged is lost, moved, doubled
or changed, no offset has two values, and requests are linearizable.
The format, with an example: go doc github.com/orrery-log/orrery/linearizability
(in a clone: go doc ./linearizability).

Exit codes: 0 it holds, 1 a promise is broken, 2 the file or the command line is
wrong, 4 the history does not tell.`,
		Example: `  orrery check history.jsonl
  orrery check history.jsonl --fetch-ends --relaxed metrics --html picture.html`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			history, err := readHistory(args[0], cmd.InOrStdin())
			if err != nil {
				return exitWith(exitUsage, err)
			}
			opt := linearizability.Options{Expires: among(expires), Relaxed: among(relaxed), FetchEnds: fetchEnds, Examples: examples}
			verdict := linearizability.Check(history, opt)
			if porcupine > 0 && !verdict.Has(linearizability.NotLinearizable) {
				verdict.Add(linearizability.CheckWindows(history, opt, porcupine))
			}
			verdict.Report(cmd.OutOrStdout())
			if html != "" {
				if err := drawHistory(history, opt, &verdict, of, partition, html); err != nil {
					return exitWith(exitUsage, err)
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "picture in %s\n", html)
			}
			switch verdict.Judgement() {
			case linearizability.Holds:
				return nil
			case linearizability.Violated:
				return exitWith(exitFailed, nil)
			default:
				return exitWith(exitUndecided, nil)
			}
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&expires, "expires", nil, `topics whose log start retention may move ("*": all)`)
	f.StringSliceVar(&relaxed, "relaxed", nil, `topics that may lose a tail at each power-loss note ("*": all)`)
	f.BoolVar(&fetchEnds, "fetch-ends", false, "take each poll's watermark for a read of the end (a single node, no follower reads)")
	f.IntVar(&examples, "examples", 5, "anomalies of each kind to print")
	f.DurationVar(&porcupine, "porcupine", 10*time.Second, "time for porcupine on each window of 1,000 positions (0: the linear passes only)")
	f.StringVar(&html, "html", "", "draw a window, the first that is broken, into this file")
	f.StringVar(&of, "topic", "", "topic to draw (default: that of the first anomaly)")
	f.Int32Var(&partition, "partition", 0, "partition to draw")
	return cmd
}

// among is membership in a list of topics.
func among(topics []string) func(string) bool {
	return func(topic string) bool { return slices.Contains(topics, topic) || slices.Contains(topics, "*") }
}

func readHistory(path string, stdin io.Reader) (*linearizability.History, error) {
	in, name := stdin, "stdin"
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in, name = file, path
	}
	h, err := linearizability.Read(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return h, nil
}

func drawHistory(h *linearizability.History, opt linearizability.Options, v *linearizability.Verdict, topic string, partition int32, path string) error {
	if topic == "" {
		switch {
		case len(v.Anomalies) > 0:
			topic, partition = v.Anomalies[0].Topic, v.Anomalies[0].Partition
		case len(h.Operations()) > 0:
			topic, partition = h.Operations()[0].Topic, h.Operations()[0].Partition
		default:
			return errors.New("the history is empty: there is nothing to draw")
		}
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := linearizability.Draw(h, opt, topic, partition, file); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
