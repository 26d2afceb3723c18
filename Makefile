# make          format, vet, staticcheck, purity, layers and the fast tests: about a minute
# make run      build, then a broker for development on 127.0.0.1:9092
# make test     everything that CI runs
# make long     what CI does not have the time for: more crashes, 2,000 seeds, mutants, bench
#
# make sim SEEDS=1..200     the simulator over these seeds
# make seed SEED=42         one seed with its trace
# make mutants              planted bugs against the simulator: which oracle finds them, in how many seeds
# make golden               rewrite the golden scripts; read the diff
# make bench                side by side with Apache Kafka
# make fuzz                 each fuzz target for FUZZTIME
# make cross                build and vet for linux and darwin, amd64 and arm64, tests included

GO      ?= go
SEEDS   ?= 1..200
SEED    ?= 42
WORKERS ?= 2
FUZZTIME ?= 20s
SIMTIME ?= 5m
STREAMS ?= 20
CRASHES ?= 20
POWERS  ?= 10

# Interop starts processes, other people's clients and Apache Kafka; it is not fast.
FAST    = $(shell $(GO) list ./... 2>/dev/null | grep -v /interop)
INTEROP = $(shell $(GO) list ./interop/... 2>/dev/null)
BIN  := bin/orrery

.PHONY: check build run test long fmt vet staticcheck purity fast all race interop sim fresh seed mutants golden bench fuzz cross clean

check: fmt vet staticcheck purity fast

build:
	$(GO) build -o $(BIN) ./cmd/orrery

run: build
	$(BIN) dev

test: fmt vet staticcheck purity cross all race fresh fuzz interop

fmt:
	@bad=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l); \
	if [ -n "$$bad" ]; then echo "not formatted, run gofmt -w on:"; echo "$$bad"; exit 1; fi

vet:
	$(GO) vet ./...

staticcheck:
	$(GO) tool staticcheck ./...

# Purity, layers and plain data: the laws of the core that a reader need not check by eye.
purity:
	$(GO) test ./core

fast:
	$(GO) test -short $(FAST)

all:
	$(GO) test $(FAST)

# Where goroutines meet. The core has none.
race:
	$(GO) test -race -short ./net/... ./node/... ./disk/... ./linearizability/...

# The clients, the crash rounds and the differential harness. A client that cannot
# be installed is skipped loudly; with CI=true that is a failure.
interop: build
	interop/setup.sh || true
	$(GO) test -count=1 -timeout 30m -p 1 -v $(filter-out %/interop/crash,$(INTEROP))
	$(GO) test -count=1 -timeout 120m -v ./interop/crash -crash.rounds=$(CRASHES) -power.rounds=$(POWERS)

sim: build
	$(BIN) sim --seeds $(SEEDS) --workers $(WORKERS)

# Seeds that nobody has run before.
fresh: build
	@from=$$(date +%s)000000; echo "$(BIN) sim --seeds $$from..$$((from + 999999)) --for $(SIMTIME) --workers $(WORKERS)"; \
	$(BIN) sim --seeds $$from..$$((from + 999999)) --for $(SIMTIME) --workers $(WORKERS)

seed: build
	$(BIN) sim --seed $(SEED) --trace

mutants:
	$(GO) run ./sim/mutants --streams $(STREAMS)

golden:
	$(GO) test ./core/broker -run Scripts -golden
	$(GO) test ./core/config -run Document -golden
	git diff --stat -- core/broker/testdata core/config/settings.md

bench: build
	BENCH=1 $(GO) test -count=1 -timeout 60m -v -run SideBySide ./interop/sidebyside

fuzz:
	@set -e; for dir in $$(git ls-files -co --exclude-standard '*_test.go' | xargs grep -l '^func Fuzz' | xargs -n1 dirname | sort -u); do \
	  for target in $$(cat $$dir/*_test.go | sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p'); do \
	    echo "fuzz $$dir $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) ./$$dir; \
	  done; \
	done

cross:
	@set -e; for target in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64; do \
	  echo "build and vet $$target"; \
	  GOOS=$${target%/*} GOARCH=$${target#*/} CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/orrery; \
	  GOOS=$${target%/*} GOARCH=$${target#*/} CGO_ENABLED=0 $(GO) vet ./...; \
	done

long: build
	ORRERY_LONG=1 $(GO) test -count=1 ./disk
	$(MAKE) interop CRASHES=200 POWERS=100
	$(GO) test -count=1 -v ./interop/scale -args -scale.partitions=10000
	$(MAKE) sim SEEDS=1..2000
	$(MAKE) mutants
	$(MAKE) bench

clean:
	rm -rf bin
