#!/usr/bin/env bash
# One broker of Apache Kafka on 127.0.0.1, to compare with.
#
#   interop/kafka.sh start PORT [NAME=VALUE ...]   start it; NAME=VALUE are more server properties; returns when it answers
#   interop/kafka.sh stop                          end it and remove its data
#   interop/kafka.sh run CLASS ARGS ...            run a class of Kafka's, a tool for example
#   interop/kafka.sh fetch                         resolve the jars, once
#
# Environment: INTEROP_STATE, the folder for data and logs (default interop/.cache/kafka): two folders, two brokers;
# INTEROP_HEAP, the server's heap (default 1g). Needs java and mvn; the jars come from Maven Central.
# The controller listens on PORT+1.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=$here/.cache
state=${INTEROP_STATE:-$cache/kafka}
heap=${INTEROP_HEAP:-1g}

die() { echo "kafka.sh: $*" >&2; exit 1; }

# The class path is kept under a name that changes with pom.xml, so that an old one is never used.
jars() {
  command -v java >/dev/null || die "java is missing: interop/setup.sh installs it"
  local kept
  kept=$cache/classpath-$(cksum <"$here/pom.xml" | tr ' ' -)
  if [[ ! -s $kept ]]; then
    command -v mvn >/dev/null || die "mvn is missing: interop/setup.sh installs it"
    mkdir -p "$cache"
    mvn -q -B -f "$here/pom.xml" -Dmdep.outputFile="$kept.$$" \
      org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath >&2 || die "Maven could not resolve the jars"
    mv "$kept.$$" "$kept"
  fi
  cat "$kept"
}

java_class() { # HEAP CLASS ARGS...
  local size=$1
  shift
  java -Xms64m -Xmx"$size" -XX:TieredStopAtLevel="${INTEROP_TIER:-4}" -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$(jars)" "$@"
}

properties() { # PORT NAME=VALUE...
  local port=$1
  shift
  cat <<END
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$((port + 1))
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$((port + 1))
advertised.listeners=PLAINTEXT://127.0.0.1:$port
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=$state/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
END
  local p
  for p in "$@"; do echo "$p"; done
}

alive() { [[ -s $state/pid ]] && kill -0 "$(cat "$state/pid")" 2>/dev/null; }

# A server whose port is open answers; ApiVersions v0 with correlation id 7 asks in 18 bytes.
answers() { # PORT
  (
    exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
    printf '\x00\x00\x00\x0a\x00\x12\x00\x00\x00\x00\x00\x07\xff\xff' >&3
    [[ $(timeout 5 head -c 8 <&3 | tail -c 4 | od -An -tx1 | tr -d ' \n') == 00000007 ]]
  ) 2>/dev/null
}

start() { # PORT NAME=VALUE...
  local port=${1:?a port is needed}
  ((port > 0 && port < 32768)) || die "port $port: take one below 32768, where no outgoing connection can sit"
  stop
  mkdir -p "$state"
  properties "$@" >"$state/server.properties"
  java_class 256m kafka.tools.StorageTool format -t orreryInteropRefKafkaA -c "$state/server.properties" >"$state/format.log" 2>&1 ||
    { cat "$state/format.log" >&2; die "the data folder could not be formatted"; }
  local path
  path=$(jars)
  setsid java -Xms"$heap" -Xmx"$heap" -XX:+UseG1GC -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
    -cp "$path" kafka.Kafka "$state/server.properties" >"$state/server.log" 2>&1 </dev/null &
  echo $! >"$state/pid"
  local deadline=$((SECONDS + 120))
  until answers "$port"; do
    alive || { tail -20 "$state/server.log" >&2; die "the server ended"; }
    ((SECONDS < deadline)) || { tail -20 "$state/server.log" >&2; die "no answer on port $port"; }
    sleep 0.2
  done
  echo "127.0.0.1:$port"
}

stop() {
  if alive; then
    local pid deadline=$((SECONDS + 15))
    pid=$(cat "$state/pid")
    kill "$pid" 2>/dev/null || true
    while kill -0 "$pid" 2>/dev/null; do
      ((SECONDS < deadline)) || kill -9 "$pid" 2>/dev/null || true
      sleep 0.1
    done
  fi
  rm -rf "$state/data" "$state/pid"
}

case ${1:-} in
  start) shift; start "$@" ;;
  stop) stop ;;
  run) shift; java_class "${INTEROP_HEAP:-512m}" "$@" ;;
  fetch) jars >/dev/null ;;
  *) sed -n '2,12p' "$0"; exit 2 ;;
esac
