# SPDX-License-Identifier: GPL-2.0
# Programs to measure with

COLL_PERF	:= $(O)/dlcp-coll-perf
ALL		+= $(COLL_PERF)

$(COLL_PERF): tools/coll-perf.c $(LIB_STATIC) $(wildcard libdlcp/*.h)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -D_GNU_SOURCE -o $@ $< $(LIB_STATIC) -lm

# Preloaded in virtual time, for programs that poll
NAP		:= $(O)/libnap.so
ALL		+= $(NAP)

$(NAP): tools/nap.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -D_GNU_SOURCE -fPIC -shared -o $@ $<
