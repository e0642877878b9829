# SPDX-License-Identifier: GPL-2.0
# Programs to measure with

COLL_PERF	:= $(O)/dlcp-coll-perf
ALL		+= $(COLL_PERF)

$(COLL_PERF): tools/coll-perf.c $(LIB_STATIC) $(wildcard libdlcp/*.h)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -D_GNU_SOURCE -o $@ $< $(LIB_STATIC) -lm

# Gloo over TCP, to compare with, where it is installed (libgloo-dev)
GLOO		:= $(shell printf '\043include <gloo/config.h>\n' | \
			$(CXX) -x c++ -E - >/dev/null 2>&1 && echo yes)
ifneq ($(GLOO),)
GLOO_PERF	:= $(O)/gloo-perf
ALL		+= $(GLOO_PERF)
$(GLOO_PERF): tools/gloo-perf.cc
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -O2 -g -Wall -o $@ $< -lgloo -pthread
endif
