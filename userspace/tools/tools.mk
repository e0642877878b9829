# SPDX-License-Identifier: GPL-2.0
# Programs to measure with

# Preloaded in virtual time, for programs that poll
NAP		:= $(O)/libnap.so
ALL		+= $(NAP)

$(NAP): tools/nap.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -D_GNU_SOURCE -fPIC -shared -o $@ $<
