# SPDX-License-Identifier: GPL-2.0
# One sender, one receiver: the shortest complete programs

EXAMPLES	:= $(O)/examples/sender $(O)/examples/receiver
ALL		+= $(EXAMPLES)

$(O)/examples/%: examples/%.c $(LIB_STATIC) libdlcp/dlcp.h
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< $(LIB_STATIC) -lm
