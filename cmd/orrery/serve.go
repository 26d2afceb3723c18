package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/orrery-log/orrery/node"
)

func serveCommand() *cobra.Command {
	var file, level string
	var sets []string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a broker",
		Long: `serve runs a broker until it gets SIGTERM or SIGINT; a second one kills it.

Settings have Kafka's names and defaults. They come from a properties file as
Kafka reads it, from the environment (ORRERY_LOG_DIRS is log.dirs), and from
--set; the later wins. Without any it listens on localhost:9092 and keeps its
data in ./data. Settings of our own begin with orrery., for example
orrery.http.address=localhost:9464 serves /metrics and /healthz. All of them:
core/config/settings.md; how to run a broker: node/operating.md.

When clients are answered, it prints one line to stdout: ready HOST:PORT.
Logs go to stderr.`,
		Example: `  orrery serve
  orrery serve --config server.properties --set log.retention.hours=24
  orrery serve --set listeners=PLAINTEXT://0.0.0.0:9092 --set advertised.listeners=PLAINTEXT://broker.example.com:9092
  ORRERY_LOG_DIRS=/var/lib/orrery orrery serve`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logger(cmd.ErrOrStderr(), level)
			if err != nil {
				return err
			}
			settings, err := node.Load(file, os.Environ(), sets)
			if err != nil {
				return exitWith(exitUsage, err)
			}
			return runNode(cmd, settings, log, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVarP(&file, "config", "c", "", "properties file")
	cmd.Flags().StringArrayVarP(&sets, "set", "s", nil, "NAME=VALUE of one setting; may be repeated")
	cmd.Flags().StringVar(&level, "log-level", "info", "debug, info, warn or error")
	return cmd
}

func logger(w io.Writer, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usage("--log-level %s: it is debug, info, warn or error", level)
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l})), nil
}

// runNode runs a broker until the first signal; a second one ends the process at
// once. So the signals must have their own effect again before anybody is told that
// the broker stops.
func runNode(cmd *cobra.Command, s node.Settings, log *slog.Logger, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(cmd.Context()))
	defer cancel()
	forget := context.AfterFunc(cmd.Context(), func() {
		signal.Reset(os.Interrupt, syscall.SIGTERM)
		cancel()
	})
	defer forget()
	return node.Run(ctx, s, out, log)
}
