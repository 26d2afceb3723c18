#!/usr/bin/env bash
# Installs what the interop tests need, each thing once: clients of other people's making and the jars of Apache Kafka.
#
#   interop/setup.sh            everything
#   interop/setup.sh NAME ...   only these: kafka-python-3 kafka-python-2 confluent kcat kafkajs apache-kafka
#
# It goes to interop/.cache, but for Debian's packages. What can not be had is said, the others are still installed, and
# the exit code is 1.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=$here/.cache
mkdir -p "$cache"

updated=
debian() { # PACKAGE...
  command -v apt-get >/dev/null || { echo "this is no Debian: please install $*" >&2; return 1; }
  if [[ -z $updated ]]; then
    apt-get update -qq >/dev/null || return 1
    updated=yes
  fi
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# A virtual environment is whole when its mark names what is in it.
python_with() { # FOLDER REQUIREMENT...
  local dir=$cache/$1
  shift
  [[ -f $dir/ready && $(<"$dir/ready") == "$*" ]] && return
  command -v python3 >/dev/null || debian python3 || return 1
  rm -rf "$dir"
  python3 -m venv "$dir" 2>/dev/null || { debian python3-venv && python3 -m venv "$dir"; } || return 1
  "$dir/bin/pip" install -q --disable-pip-version-check "$@" || return 1
  echo "$*" >"$dir/ready"
}

install_one() { # NAME
  case $1 in
    kafka-python-3) python_with kafka-python-3 'kafka-python==3.0.12' ;;
    kafka-python-2) python_with kafka-python-2 'kafka-python==2.0.2' 'six' ;;
    confluent) python_with confluent 'confluent-kafka==2.16.1' ;;
    kcat) command -v kcat >/dev/null || debian kcat ;;
    kafkajs)
      [[ -f $cache/kafkajs/node_modules/kafkajs/package.json ]] && return
      command -v npm >/dev/null || debian nodejs npm || return 1
      mkdir -p "$cache/kafkajs" && (cd "$cache/kafkajs" && echo '{"private":true}' >package.json && npm install --silent --no-save kafkajs@2.2.4)
      ;;
    apache-kafka)
      command -v java >/dev/null || debian default-jre-headless || return 1
      command -v mvn >/dev/null || debian maven || return 1
      "$here/kafka.sh" fetch
      ;;
    *) echo "setup.sh: there is no '$1'" >&2; return 1 ;;
  esac
}

(($#)) || set -- kafka-python-3 kafka-python-2 confluent kcat kafkajs apache-kafka
status=0
for name in "$@"; do
  install_one "$name" || { echo "setup.sh: $name could not be installed" >&2; status=1; }
done
exit $status
