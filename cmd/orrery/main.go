package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// commands are all there is, in the order of --help. Each stands in the file of
// its name.
func commands() []*cobra.Command {
	return []*cobra.Command{
		serveCommand(),
		devCommand(),
		topicCommand(),
		produceCommand(),
		consumeCommand(),
		checkCommand(),
		simCommand(),
		diskCommand(),
		benchCommand(),
		versionCommand(),
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main with its world as arguments, so that a test can call it.
func run(ctx context.Context, args []string, in io.Reader, out, talk io.Writer) int {
	began := false
	root := rootCommand(&began)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(talk)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var coded *exitError
	if errors.As(err, &coded) {
		if coded.err != nil {
			say(talk, coded.err)
		}
		return coded.code
	}
	say(talk, err)
	if !began {
		return exitUsage
	}
	return exitFailed
}

// say prints an error; several that were joined get a line each.
func say(talk io.Writer, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(talk, "orrery:", line)
	}
}

func rootCommand(began *bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "orrery",
		Short: "A durable log that Kafka clients write and read, with its simulator and its tools",
		Long: `orrery is a Kafka-compatible durable log in one binary: the broker, the
simulator that tries to break it, and the tools of every day.`,
		Example: `  orrery dev
  echo hello | orrery produce greetings
  orrery consume greetings --from earliest --count 1`,
		SilenceErrors: true, // run prints them, once
		SilenceUsage:  true, // a page of usage hides the sentence that helps
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(commands()...)
	markBegin(root, began)
	return root
}

// markBegin notes when a command's own code begins: an error before that is
// cobra's and means that the command line was wrong. It gets a hint at the help.
func markBegin(cmd *cobra.Command, began *bool) {
	if own := cmd.Args; own != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := own(cmd, args); err != nil {
				return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
			}
			return nil
		}
	}
	if own := cmd.RunE; own != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			*began = true
			return own(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		markBegin(sub, began)
	}
}

// group is a command that only holds others.
func group(use, short, long, example string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(subs...)
	return cmd
}

// Exit codes that every command shares.
const (
	exitFailed = 1
	exitUsage  = 2
)

// exitError ends the process with a code of its own; without err nothing more is
// said, because the command has said it.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// exitWith ends with a code; err may be nil.
func exitWith(code int, err error) error { return &exitError{code, err} }

// usage says that the command line was wrong, and how.
func usage(format string, args ...any) error {
	return exitWith(exitUsage, fmt.Errorf(format, args...))
}
