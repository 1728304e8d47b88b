# Two commands are all a newcomer needs: `make demo` and `make test`.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  ?= $(shell git rev-parse --short HEAD 2>/dev/null)
LDFLAGS  = -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)

.PHONY: build demo test deps data docs fuzz proof-01 proof-02 proof-03 proof-04 proof-05 clean

build:
	@.ci/need go gcc
	go build -trimpath -ldflags '$(LDFLAGS)' -o ascendctl .

demo: build
	@testdata/demo/demo.sh

# What CI runs. As root it installs what it needs; else it asks first.
test: deps
	@.ci/test

deps:
	@.ci/deps

# The form of the compatibility tables that loads fast; a test compares them.
data:
	go test ./internal/matrix -run Compact -update

# Every fuzz target beyond its seeds, which `make test` runs; FUZZTIME=10s each.
fuzz:
	@.ci/fuzz

# Pages that are made from the code; a test compares them.
docs:
	go test ./internal/screen -update

# Every figure of the first milestone, into docs/proof/01.md.
proof-01: deps build
	@.ci/proof-01

# Figures of looking at hosts, into docs/proof/02.md.
proof-02: deps
	@.ci/proof-02

# Figures of the version matrix and of preflight, into docs/proof/03.md.
proof-03: deps
	@.ci/proof-03

# Figures of changing hosts, into docs/proof/04.md.
proof-04: deps
	@.ci/proof-04

# Figures of the ACL runtime core, into docs/proof/05.md.
proof-05: deps
	@.ci/proof-05

clean:
	rm -rf ascendctl dist .cache
