# The two commands are `make demo` and `make test`; `make help` lists the rest.

HOB_DEPS ?= $(CURDIR)/.deps
ifeq ($(strip $(HOB_DEPS)),)
override HOB_DEPS := $(CURDIR)/.deps
endif
export HOB_DEPS
export PATH := $(HOB_DEPS)/venv/bin:$(PATH)

JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
TIER := python3 -B tests/run_tier.py --jobs $(JOBS)

SOURCES = $(shell git ls-files '*.c' '*.h' '*.cpp' '*.hpp')
PYTHON = tools tests apps src packaging $(shell grep -l '^\#!.*python' scripts/*)

# How far a build is. A ninja before 1.12, which CMake finds where somebody configured by hand, cannot estimate what is
# left, and refuses to run if asked to.
ninja = $(or $(shell sed -n 's/^CMAKE_MAKE_PROGRAM:.*=//p' build/default/CMakeCache.txt 2>/dev/null),ninja)
estimates = $(shell printf '1.12\n%s\n' "$$(PATH='$(PATH)' $(ninja) --version)" | sort -VC && echo yes)
build shipped demo bench-programs: export NINJA_STATUS ?= [%f of %t, $(if $(estimates),%w so far$(comma) %W left,%es so far)] 

comma := ,

.PHONY: all setup setup-demo configure build build-config demo test test-full test-rest check bench format lint lint-includes lint-format lint-comments lint-words lint-python lint-sizes lint-cpp lint-docs lint-faults soak install wheel docs site clean help

all: build

help:
	@echo 'make                 set up what is missing and build'
	@echo 'make demo            a program that was not written for Hob, without it and with it'
	@echo 'make test            every kind of test: 15 minutes from a fresh clone on 2 cores, 7 on a built tree'
	@echo 'make test-full       everything that there is: an hour and more'
	@echo 'make check           unit tests and layers, for the work at hand: a minute or two'
	@echo 'make bench-programs  what hob bench starts, without the tests'
	@echo 'make bench           the benchmarks, each against its limits (takes a while)'
	@echo 'make soak MINUTES=N  random programs with new seeds, over all MPI libraries (now $(MINUTES))'
	@echo 'make format          clang-format and ruff, in place'
	@echo 'make lint            layers, formatting, comments, words, ruff, sizes, documentation, clang-tidy: reports'
	@echo 'make docs            docs/configuration.md and docs/layers.svg from the code, docs/measured.md and docs/gain.svg from one file'
	@echo 'make site            out/site: the documentation as web pages with search (MkDocs)'
	@echo 'make install PREFIX=/where    the library, hob and its Python part'
	@echo 'make wheel           dist/*.whl, which pip installs without a compiler or an MPI'
	@echo 'make clean           removes build/, out/ and dist/; .deps stays'
	@echo 'JOBS=N               compile with N processes (now $(JOBS))'
	@echo 'DEMO="--seconds 5"   options of hob demo (./hob demo --help)'
	@echo 'HOB_DEPS=DIR         where setup puts what the system lacks (now $(HOB_DEPS))'

setup:
	@scripts/setup

# Configuring again costs a second or two; ninja does it itself where a CMake file changed.
configure: setup
	@grep -qs 'HOB_BUILD_TESTS:BOOL=ON' build/default/CMakeCache.txt || cmake --preset default $(HOB_ALL:%=%=ON)

build: configure
	@cmake --build --preset default -j $(JOBS)

# One MPI library, Hob for it, the program and the command: the rest is for the tests.
setup-demo:
	@scripts/setup --demo

demo: setup-demo
	@mkdir -p build
	@[ -f build/default/build.ninja ] || cmake --preset default $(HOB_ALL:%=%=OFF) >build/demo.log || { cat build/demo.log; exit 1; }
	@cmake --build --preset default -j $(JOBS) --target demo-programs
	@./hob demo $(DEMO)

# What `hob bench` starts, for the MPI libraries that are set up: after `make demo`, one.
bench-programs: setup-demo
	@mkdir -p build
	@grep -qs 'HOB_BUILD_BENCH:BOOL=ON' build/default/CMakeCache.txt || cmake --preset default $(if $(wildcard build/default/CMakeCache.txt),,-DHOB_BUILD_TESTS=OFF) -DHOB_BUILD_BENCH=ON >build/bench.log || { cat build/bench.log; exit 1; }
	@cmake --build --preset default -j $(JOBS) --target bench-programs

HOB_ALL = -DHOB_BUILD_TESTS -DHOB_BUILD_BENCH

# The tiers of the tests: tests/README.md.
test:
	@$(TIER) quick

test-full:
	@$(TIER) full

check:
	@$(TIER) check

# What of `make test-full` is not in `make test`, as much as fits into SECONDS (.ci/run).
SECONDS ?= 600
test-rest:
	@$(TIER) rest --seconds $(SECONDS)

# Whether each seeded fault applies, and names tests that exist.
lint-faults: build-config
	@python3 -B tests/seeded_faults.py --check --build build/default

# The command alone, with its settings table.
build-config: configure
	@cmake --build --preset default -j $(JOBS) --target hob-exec

bench: build
	@./hob bench all

# Random programs with new seeds, over all MPI libraries and modes; a failure is shrunk and printed as a command.
MINUTES ?= 30
# Open MPI refuses root unless told otherwise twice.
soak: export OMPI_ALLOW_RUN_AS_ROOT := 1
soak: export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
soak: build
	@python3 -B tests/soak.py --build build/default --launchers $(HOB_DEPS)/mpis.cmake --minutes $(MINUTES)

format:
	@scripts/setup --lint
	@clang-format -i $(SOURCES)
	@ruff format --quiet $(PYTHON) && ruff check --quiet --fix $(PYTHON)

# What CI runs; most of its minutes are clang-tidy's.
lint: lint-includes lint-format lint-comments lint-words lint-python lint-sizes lint-docs lint-faults lint-cpp

# The layers of src/ (docs/architecture.md), by its includes.
lint-includes:
	@scripts/check-includes

lint-format:
	@scripts/setup --lint
	@clang-format --dry-run -Werror $(SOURCES)

lint-python:
	@scripts/setup --lint
	@ruff format --check --quiet $(PYTHON) && ruff check $(PYTHON)

lint-comments:
	@scripts/check-comments

# Sentences in pages, comments and messages.
lint-words:
	@scripts/check-words

# make lint-cpp ANALYZER=--analyzer: the static analyzer, too, which takes four times as long. CHANGED=--changed: what
# changed against the main branch, and what includes it. A tree of its own has the command of each file, and the
# generated headers.
lint-cpp: setup
	@scripts/setup --lint
	@mkdir -p build
	@[ -f build/lint/build.ninja ] || cmake --preset lint >build/lint.log || { cat build/lint.log; exit 1; }
	@cmake --build --preset lint --target generated
	@scripts/lint-cpp build/lint -j $(JOBS) $(ANALYZER) $(CHANGED)

lint-sizes:
	@scripts/check-sizes

lint-docs: build-config
	@./hob config --markdown | diff -u docs/configuration.md - || { echo 'docs/configuration.md: run make docs'; exit 1; }
	@scripts/numbers --check
	@scripts/draw-gain --check
	@scripts/check-docs
	@scripts/setup --lint
	@scripts/site >/dev/null

# The documentation as a web site, with search; a broken link ends it.
site:
	@scripts/setup --lint
	@scripts/site

docs: build
	@./hob config --markdown >docs/configuration.md
	@scripts/numbers
	@scripts/draw-gain
	@scripts/check-includes --picture docs/layers.svg

# What is installed is built, and no test.
shipped: configure
	@cmake --build --preset default -j $(JOBS) --target shipped

install: shipped
	@cmake --install build/default --prefix '$(PREFIX)'

# For other machines, whose glibc may not be older than the wheel's name says.
wheel: shipped
	@scripts/wheel build/default dist

clean:
	rm -rf build out dist
