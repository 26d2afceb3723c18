#!/usr/bin/env bash
# kcat (librdkafka): produce with each codec, consume from the beginning, ask for offsets by time.
#
# Usage: kcat.sh BOOTSTRAP TOPIC COUNT; the codecs go to TOPIC-none, TOPIC-gzip, TOPIC-snappy, TOPIC-lz4 and TOPIC-zstd.
set -euo pipefail
bootstrap=$1 topic=$2 count=$3

for codec in none gzip snappy lz4 zstd; do
  t=$topic-$codec
  # Lines that repeat themselves: a batch of them is smaller in every codec.
  lines() { for ((i = 0; i < count; i++)); do echo "k$i:the value of number $i, the value of number $i, the value of number $i"; done; }
  lines | kcat -P -b "$bootstrap" -t "$t" -K: -z "$codec" -X acks=all -X linger.ms=300
  got=$(kcat -C -b "$bootstrap" -t "$t" -K: -o beginning -e -q | sort | sha256sum)
  [[ $got == "$(lines | sort | sha256sum)" ]] || { echo "kcat: with $codec other lines came back" >&2; exit 1; }
  end=$(kcat -Q -b "$bootstrap" -t "$t:0:-1")
  [[ $end == *"offset $count"* ]] || { echo "kcat: the end of $t is '$end', not $count" >&2; exit 1; }
done
kcat -L -b "$bootstrap" | grep -q "topic \"$topic-zstd\"" || { echo "kcat: -L does not list $topic-zstd" >&2; exit 1; }
echo "kcat: $count produced and consumed in each of five codecs"
