package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orrery-log/orrery/node"
)

func devCommand() *cobra.Command {
	var sets []string
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a broker for development, and say how to use it",
		Long: `dev runs a broker on 127.0.0.1:9092 with its data in ./data and topics that are
created when they are used. It reads neither a file nor the environment.`,
		Example: `  orrery dev
  orrery dev --set listeners=PLAINTEXT://127.0.0.1:0 --set log.dirs=/tmp/orrery`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logger(cmd.ErrOrStderr(), "warn")
			if err != nil {
				return err
			}
			settings, err := node.Load("", nil, append(devSettings(), sets...))
			if err != nil {
				return exitWith(exitUsage, err)
			}
			return runNode(cmd, settings, log, &greeter{cmd.OutOrStdout(), settings.DataDir()})
		},
	}
	cmd.Flags().StringArrayVarP(&sets, "set", "s", nil, "NAME=VALUE of one setting; may be repeated")
	return cmd
}

// devSettings favour a single developer: groups form at once, and a topic can be
// joined before anybody has created it.
func devSettings() []string {
	return []string{
		"listeners=PLAINTEXT://127.0.0.1:9092",
		"log.dirs=./data",
		"auto.create.topics.enable=true",
		"group.initial.rebalance.delay.ms=0",
		"offsets.topic.num.partitions=1",
	}
}

// greeter follows the ready line with what to try next.
type greeter struct {
	out io.Writer
	dir string
}

func (g *greeter) Write(p []byte) (int, error) {
	n, err := g.out.Write(p)
	address, ok := strings.CutPrefix(strings.TrimSpace(string(p)), "ready ")
	if err != nil || !ok {
		return n, err
	}
	program := os.Args[0]
	if !strings.Contains(program, "/") {
		program = "orrery"
	}
	flag := ""
	if address != "127.0.0.1:9092" {
		flag = " -b " + address
	}
	_, err = fmt.Fprintf(g.out, `
bootstrap.servers=%s   data in %s   Ctrl-C stops it

Try in another shell:
  echo hello | %s produce%s greetings
  %s consume%s greetings --from earliest --count 1
  %s topic list%s
`, address, g.dir, program, flag, program, flag, program, flag)
	return n, err
}
