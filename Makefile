# Everything a developer starts. `make` alone lists the targets; `make test` is what CI runs.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
# rustup puts cargo here, and a CI shell often has not read the profile that says so.
export PATH := $(HOME)/.cargo/bin:$(PATH)
# Many containers set it. Tests start the command more than a thousand times, and each would compile its 190 files anew.
unexport PYTHONDONTWRITEBYTECODE

PYTHON := .venv/bin/python
PYTEST := $(PYTHON) -m pytest
# What tests use, and cargo's tests with them, is compiled once, in this profile of Cargo.toml. With it in the environment
# ./tonnage builds it too; without it, the release build that users measure with.
PROFILE := tested
test test-fast pytest attack nightly: export TONNAGE_BUILD_PROFILE := $(PROFILE)

# What knows Python is compiled anew whenever cargo is told of it in other words than the last time, which were maturin's.
PYO3_AS_BUILT = $(patsubst %,PYO3_BUILD_EXTENSION_MODULE=1 PYO3_CONFIG_FILE=%,$(lastword $(wildcard $(CURDIR)/target/maturin/pyo3-config-*.txt)))

heading = @printf '\n== %s ==\n' '$(1)'
# Parts that wait for different things run beside each other; what one prints stays together.
beside = $(MAKE) --no-print-directory --jobs=$(words $(1)) --output-sync=target BESIDE_EACH_OTHER=1 $(1)

# What the tests need besides cargo and Python: a C linker, venv, a browser that opens the report, and the tools that
# make a file system on a loop device of known speed, or one that fails as it is told, and the
# scheduler, network and file services of the lab.
TOOLCHAIN := build-essential python3-venv
PACKAGES := chromium e2fsprogs xfsprogs util-linux fuse3 slurmctld slurmd slurm-client \
	iproute2 glusterfs-server glusterfs-client attr prometheus-node-exporter openssh-server munge sshfs btrfs-progs \
	ceph-mon ceph-mgr ceph-osd ceph-mds ceph-fuse ceph-common nfs-ganesha nfs-ganesha-vfs iperf3 uidmap openmpi-bin libopenmpi-dev \
	moosefs-master moosefs-chunkserver moosefs-client moosefs-cli environment-modules

# Slurm's plugin for PMIx loads libpmix.so by that name, which only the package for developers has.
PACKAGES += libpmix-dev

# For workflows: a Java, and Maven, which brings Nextflow's jars. A machine may have others than Debian's.
PACKAGES += $(if $(and $(shell command -v java),$(shell command -v mvn)),,default-jre-headless maven)

# Tests start their own daemons: installing one must not. Debian asks this file before it starts any.
POLICY := /usr/sbin/policy-rc.d

# The extras of pyproject.toml, as the installed package states them: pip can install an extra only together with its
# package, which would build the engine a second time. Without MPICH: the tests' MPI is the system's.
DEV_REQUIREMENTS := import importlib.metadata as m, re; \
	print(*(re.sub(r"\s*(;|and)\s*extra ==.*", "", r) for r in m.requires("tonnage") if "extra ==" in r and not r.startswith(("tonnage", "mpich"))), sep="\n")

# Files of tests run beside each other, as many as there are processors and five more: many wait, for daemons, disks and
# limits of time. The long ones come first, so that no processor is idle at the end, and then those that wait among those
# that compute, in an order that is the same each time. What measures this machine, or takes it apart, is marked `alone`
# and comes afterwards: links and caches two at a time, and last the devices of so many operations a second, which nobody
# may keep from their processor.
BESIDE := --numprocesses=$(shell expr $$(nproc) + 5) --dist=loadfile --no-loadscope-reorder
FILES := $(wildcard tests/*/test_*.py tests/*/*/test_*.py)
MIXED := $(shell printf '%s\n' $(FILES) | sort --random-sort --random-source=LICENSE-APACHE)
LONG := $(wildcard $(patsubst %,tests/%.py,calibration/test_coverage lab/test_stage_calls lab/test_workflows lab/test_s3 \
	installs/test_installed lab/test_rados lab/test_stage_kills lab/test_stage_histories lab/test_snapshots \
	lab/test_rados_faults lab/test_probe_space lab/test_on_slurm lab/test_submit lab/test_scratch_owners \
	lab/test_ceph_snapshots mpi/test_runs e2e/test_tutorials calibration/test_between calibration/test_findings_matrix \
	calibration/test_change))
ORDERED := $(LONG) $(filter-out $(LONG),$(MIXED))
ALL_BESIDE := $(BESIDE) -m 'not alone' $(ORDERED)
THROTTLED := $(wildcard tests/lab/test_throttled_*.py)
DEVICES := --numprocesses=$(words $(THROTTLED)) --dist=loadfile $(THROTTLED)
ALONE := --numprocesses=2 --dist=loadfile -m alone $(filter-out $(THROTTLED),$(wildcard tests/lab/test_*.py tests/mpi/test_*.py))
FAST := $(BESIDE) -m 'not alone' $(filter-out tests/calibration/% tests/e2e/% tests/installs/% tests/lab/%,$(ORDERED))
# All to their ends, so that one failure does not hide those after it.
tested = failed=0; $(foreach some,$(1),$(PYTEST) $($(some)) || failed=$$?;) exit $$failed

.PHONY: help build setup toolchain packages requirements test test-fast lint rust pytest attack nightly bench experiments \
	wheels fmt docs clean
ifndef BESIDE_EACH_OTHER
.NOTPARALLEL:
endif

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build:  ## Build the engine into .venv, as the first ./tonnage does
	$(call heading,Engine and virtual environment)
	@command -v cargo >/dev/null || { echo 'cargo is missing: install Rust from https://rustup.rs, then run this again' >&2; exit 2; }
	./tonnage --version

setup: toolchain  ## Install what the tests need, build, fill .venv
	$(call beside,packages build)
	$(MAKE) --no-print-directory requirements

requirements:
	$(PYTHON) -c '$(DEV_REQUIREMENTS)' | $(PYTHON) -m pip install --quiet --disable-pip-version-check --requirement /dev/stdin

# As root on Debian, what is missing; as anyone else, nothing: tests that lack a tool say so and skip.
define install
	@missing=$$(for package in $(1); do \
		dpkg-query --show --showformat='$${db:Status-Status}\n' $$package 2>/dev/null | grep -qx installed || echo $$package; done); \
	if [ -z "$$missing" ]; then exit 0; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		if [ ! -e $(POLICY) ]; then trap 'rm -f $(POLICY)' EXIT; printf '#!/bin/sh\nexit 101\n' >$(POLICY); chmod 755 $(POLICY); fi; \
		apt-get update --quiet=2 && DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends $$missing; \
	else echo "not installed, tests that need them will be skipped:" $$missing; fi
endef

toolchain:  # What `build` needs, before the rest is installed beside it.
	$(call install,$(TOOLCHAIN))

packages:
	$(call install,$(PACKAGES))

# A whole run builds once: nothing is kept for the next build.
test: export CARGO_INCREMENTAL := 0
test: toolchain  ## Every layer: format, lints, Rust, Python, end to end, lab, tidy
	$(call beside,packages build)
	$(call beside,requirements lint rust)
	$(MAKE) --no-print-directory pytest

test-fast: build lint rust  ## Without end-to-end, installs, lab and the long calibration
	$(call tested,FAST)

lint: $(if $(BESIDE_EACH_OTHER),requirements)  ## Formatting, clippy, ruff, mypy; warnings are errors
	$(call heading,cargo fmt)
	cargo fmt --all --check
	$(call heading,cargo clippy)
	$(PYO3_AS_BUILT) cargo clippy --profile $(PROFILE) --workspace --all-targets --quiet -- --deny warnings
	$(call heading,ruff)
	$(PYTHON) -m ruff check .
	$(call heading,mypy)
	$(PYTHON) -m mypy python/tonnage

rust:  # Unit tests beside the code, and the storages' conformance suite. No page of an API has an example that runs.
	$(call heading,cargo test)
	cargo test --profile $(PROFILE) --workspace --quiet --lib --bins --tests

pytest: build
	$(call heading,pytest: all parts · end to end · installs · calibration · laboratories; then what measures this machine)
	$(call tested,ALL_BESIDE ALONE DEVICES)

# What is tried on the stager and on what else writes or removes files: kills, histories, faults at each call, power
# cuts, remounts, mappings, clocks, others at the destination.
ATTACK := $(wildcard tests/lab/test_stage_*.py)

attack: build  ## Everything that harms files, on the stager: kills, call faults, power cuts … (about an hour)
	$(call heading,pytest: attack)
	TONNAGE_KILL_SEEDS=300 TONNAGE_STAGE_HISTORIES=2000 TONNAGE_STAGE_CALLS=each TONNAGE_POWER_POINTS=200 \
		$(PYTEST) $(ATTACK)

nightly: build  ## The attack with 20,000 histories, 1,000 kill seeds, every call and crash point; all seeds and all installs (hours)
	$(call heading,pytest: attack with all of it)
	TONNAGE_KILL_SEEDS=1000 TONNAGE_STAGE_HISTORIES=20000 TONNAGE_STAGE_CALLS=all TONNAGE_POWER_POINTS=all \
		$(PYTEST) $(ATTACK)
	TONNAGE_ALL_SEEDS=1 $(PYTEST) $(BESIDE) tests/calibration
	TONNAGE_ALL_INSTALLS=1 $(PYTEST) tests/installs
	TONNAGE_ALL_DEVICES=1 $(PYTEST) $(DEVICES)
	TONNAGE_COLD=1 $(PYTEST) $(BESIDE) tests/e2e tests/records tests/cluster

bench:  ## Tonnage against the bare C loop and its peers, interleaved (minutes; wants a quiet machine)
	$(PYTHON) bench/run.py

experiments: build  ## Run the field's five experiments and write their pages (half an hour; root, a quiet machine)
	$(PYTHON) docs/make/experiments.py $(ARGS)

# zig links for a C library older than that of this machine. Its builds have a directory of their own, so that neither
# they nor ./tonnage build anew what the other one needs.
WHEELS := target/wheels
WHEEL_TOOLS := target/wheel-tools
ARCHITECTURES := x86_64 aarch64
HOST_ARCHITECTURE := $(shell uname -m)

$(WHEEL_TOOLS)/bin/auditwheel: requirements.lock
	python3 -m venv --clear $(WHEEL_TOOLS)
	$(WHEEL_TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check \
		"$$(grep '^maturin==' requirements.lock)" ziglang auditwheel pyelftools
	touch $@

wheels: $(WHEEL_TOOLS)/bin/auditwheel  ## Wheels for clusters with glibc 2.17 (manylinux2014), x86_64 and aarch64, and the sdist
	$(call heading,wheels and sdist into $(WHEELS))
	@mkdir -p $(WHEELS) && rm -f $(WHEELS)/tonnage-*.whl $(WHEELS)/tonnage-*.tar.gz
	$(WHEEL_TOOLS)/bin/maturin sdist --out $(WHEELS)
	@for architecture in $(ARCHITECTURES); do \
		target=$$architecture-unknown-linux-gnu; \
		if command -v rustup >/dev/null && ! rustup target add $$target && [ $$architecture != $(HOST_ARCHITECTURE) ]; then \
			echo "no wheel for $$architecture: rustup cannot get its target" >&2; continue; \
		fi; \
		PATH="$$PWD/$(WHEEL_TOOLS)/bin:$$PATH" CARGO_TARGET_DIR=target/manylinux $(WHEEL_TOOLS)/bin/maturin build --release --locked \
			--zig --compatibility manylinux2014 --target $$target --out $(WHEELS); \
	done
	$(WHEEL_TOOLS)/bin/python packaging/check_wheel.py $(WHEELS)/*.whl

fmt:  ## Format Rust and Python
	cargo fmt --all
	$(PYTHON) -m ruff format python tests lab bench packaging
	$(PYTHON) -m ruff check --fix .

docs:  ## Rust API pages, with every public item required to have one
	RUSTDOCFLAGS='--deny warnings' cargo doc --workspace --no-deps --quiet

# The site's tools have an environment of their own: no command and no test needs them.
SITE_VENV := target/site-venv

.PHONY: site
site: $(SITE_VENV)/ready  ## Write all pages as a site to target/site; a broken link is an error (no network but PyPI, once)
	$(call heading,mkdocs)
	NO_MKDOCS_2_WARNING=1 $(SITE_VENV)/bin/python -m mkdocs build --strict
	@echo open target/site/index.html

$(SITE_VENV)/ready: docs/site/requirements.txt
	python3 -m venv $(SITE_VENV)
	$(SITE_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

clean:  ## Remove what the builds made
	cargo clean
