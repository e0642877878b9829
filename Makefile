# SPDX-License-Identifier: GPL-2.0
#
# DLCP: a transport for tensors that may lose a little. `make help` lists the targets.

# The kernels to build for: a headers folder, lines of scripts/fetch, or the running one
KERNELS ?= running
override KERNELS := $(if $(KDIR),$(abspath $(KDIR)),$(KERNELS))
PREFIX ?= /usr/local
# The compiler of modules: CC= if it was given, as the kernel's own make takes it
module_cc = $(if $(filter command,$(origin CC)),$(firstword $(CC)),$(if $(LLVM),clang,$(CROSS_COMPILE)gcc))
# For all of user space, so that it installs what was built.
USER_MAKE = $(MAKE) -C userspace O=$(CURDIR)/build/user PREFIX=$(PREFIX)

.PHONY: all help deps modules user deb rpm demo test test-all test-debug fuzz coverage model bench bench-cost eval scale ablation check install install-user uninstall dkms \
	clean fuzz-syscalls soak

# What wants no kernel headers comes first.
all: user modules

help:
	@echo 'make            user space, and the module for the running kernel, whose headers it wants'
	@echo 'make modules    the module alone; for other kernels:'
	@echo '                KDIR=/path/to/headers, with ARCH=, CROSS_COMPILE=, CC=, LLVM= as for a kernel,'
	@echo '                or KERNELS="6.1 6.12 newest": the newest of these lines in Debian'\''s archive'
	@echo 'make test       the tests; unprivileged kernels are booted for those that need one'
	@echo 'make test-all   and each of them over every encapsulation and on every kernel (hours)'
	@echo 'make test-debug only those in kernels with KASAN, lockdep, kmemleak and so on'
	@echo 'make fuzz       the fuzzers of the protocol engine, SECS=600 each or RUNS=n; SEED=n'
	@echo 'make coverage   lines of the engine, and of the module, that tests do not reach'
	@echo 'make model      spin looks at every state of the models of the protocol'
	@echo 'make fuzz-syscalls ROUNDS=n SEED=s   the system-call fuzzer, in a debug kernel'
	@echo 'make soak HOURS=n SEED=s   random traffic, networks and faults, in a debug kernel'
	@echo 'make demo       train a model over lossy links and plot it'
	@echo 'make bench      the network benchmarks, against TCP'
	@echo 'make bench-cost what they cost a processor, counted exactly: selftests/bench/cost'
	@echo 'make eval       what it does for training: Documentation/evaluation.md (hours)'
	@echo 'make ablation   which test or cell notices each rule of the engine'
	@echo 'make scale      large networks, simulated, beside other protocols: selftests/scale (ONLY=GRID)'
	@echo 'make check      static checks: sparse, W=1, clang, shellcheck, checkpatch'
	@echo 'make install    the module and user space (PREFIX, DESTDIR, and what is for make modules)'
	@echo 'make uninstall  remove what make install, of any version and for any kernel, and make dkms'
	@echo '                put there (the same PREFIX, DESTDIR); builds nothing'
	@echo 'make dkms       the module by DKMS: built again for each new kernel (DESTDIR)'
	@echo 'make deb        Debian packages, in build/deb/'
	@echo 'make rpm        RPM packages, in build/rpm/RPMS/ (RPMFLAGS=--nodeps on Debian)'
	@echo 'make deps       install the Debian packages all this needs'
	@echo 'make clean      remove build/ (kernels stay in the cache, see scripts/fetch)'

deps:
	@scripts/install-deps

# All that was given on the command line goes to the kernel's make, too.
modules:
	@scripts/install-deps --need rsync flock $(module_cc)
	@set -e; for kernel in $(KERNELS); do scripts/build-module $$kernel $(MAKEOVERRIDES); done

user:
	@scripts/install-deps --need $(firstword $(CC)) python3
	@$(USER_MAKE)

test: deps
	@selftests/run

test-all: deps
	@selftests/run all

test-debug: deps
	@selftests/run kunit
	@selftests/run uml-debug
	@selftests/run qemu-debug

# Long runs; a bounded one with a fixed seed is part of `make test`.
fuzz: deps
	@$(MAKE) -s -C selftests/core fuzz CC=clang RUNS=$(or $(RUNS),2000000000) \
		SECS=$(or $(SECS),600) SEED=$(or $(SEED),0)

coverage: deps
	@$(MAKE) -s -C selftests/core coverage
	@scripts/install-deps build lab
	@selftests/kernel/coverage

model:
	@scripts/install-deps model
	@model/check

fuzz-syscalls:
	@scripts/install-deps build lab
	@ROUNDS="$(ROUNDS)" SEED="$(SEED)" FIRST="$(FIRST)" BED="$(BED)" CALLS="$(CALLS)" TRACE="$(TRACE)" selftests/syscalls/run

soak:
	@scripts/install-deps build lab
	@HOURS="$(HOURS)" SEED="$(SEED)" SCENE="$(SCENE)" BED="$(BED)" selftests/soak/run

demo: deps
	@userspace/trainer/demo

bench: deps
	@selftests/bench/run

bench-cost:
	@scripts/install-deps build lab
	@selftests/bench/cost/run

eval: deps
	@selftests/eval/run

scale:
	@scripts/install-deps --need $(firstword $(CC)) python3
	@scripts/install-deps ns3 || true
	@$(MAKE) -s -C selftests/scale figures ONLY="$(ONLY)"

ablation:
	@scripts/install-deps --need gcc python3
	@$(MAKE) -s -C selftests/scale ablation

check: deps
	@scripts/check

install: modules install-user
	@scripts/install-deps --need modinfo depmod
	@DESTDIR=$(DESTDIR) scripts/install-module $(KERNELS)
	@[ -n "$(DESTDIR)" ] || ldconfig

# What needs no kernel
install-user: user
	@scripts/install-deps --need install
	@$(USER_MAKE) install DESTDIR=$(DESTDIR)
	@install -D -m 755 tc-scripts/dlcp-tc $(DESTDIR)$(PREFIX)/sbin/dlcp-tc
	@install -D -m 644 tc-scripts/dlcp-tc.8 $(DESTDIR)$(PREFIX)/share/man/man8/dlcp-tc.8

uninstall:
	@$(USER_MAKE) -s uninstall DESTDIR=$(DESTDIR)
	@rm -f $(DESTDIR)$(PREFIX)/sbin/dlcp-tc $(DESTDIR)$(PREFIX)/share/man/man8/dlcp-tc.8
	@rmdir $(DESTDIR)$(PREFIX)/share/man/man8 2>/dev/null || true
	@DESTDIR=$(DESTDIR) scripts/uninstall
	@[ -n "$(DESTDIR)" ] || ldconfig

dkms:
	@scripts/install-deps --need $(if $(DESTDIR),,dkms gcc depmod)
	@DESTDIR=$(DESTDIR) scripts/install-dkms

# As any user, and without the network
deb:
	@scripts/install-deps --need dpkg-buildpackage dh dh_dkms dh_python3
	@scripts/build-deb

rpm:
	@scripts/install-deps --need rpmbuild
	@rpmbuild -bb --build-in-place --define "_topdir $(CURDIR)/build/rpm" $(RPMFLAGS) packaging/rpm/dlcp.spec

clean:
	rm -rf build
