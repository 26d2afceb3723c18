//go:build deps

package main

import (
	_ "github.com/anishathalye/porcupine"
	_ "github.com/hanwen/go-fuse/v2/fs"
	_ "github.com/hanwen/go-fuse/v2/fuse"
	_ "github.com/klauspost/compress/s2"
	_ "github.com/klauspost/compress/snappy"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/klauspost/compress/gzip"
	_ "github.com/pierrec/lz4/v4"
	_ "github.com/prometheus/client_golang/prometheus"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/prometheus/client_golang/prometheus/collectors"
	_ "github.com/prometheus/client_golang/prometheus/testutil"
	_ "github.com/spf13/cobra"
	_ "github.com/stretchr/testify/require"
	_ "github.com/tidwall/wal"
	_ "github.com/twmb/franz-go/pkg/kgo"
	_ "github.com/twmb/franz-go/pkg/kerr"
	_ "github.com/twmb/franz-go/pkg/kbin"
	_ "github.com/twmb/franz-go/pkg/kversion"
	_ "github.com/twmb/franz-go/pkg/kadm"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/tools/go/packages"
	_ "pgregory.net/rapid"
)
func main() {}
