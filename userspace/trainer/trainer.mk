# SPDX-License-Identifier: GPL-2.0
# The demo trainer

TRAIN		:= $(O)/dlcp-train
TRAIN_SRC	:= main server report worker net net_dlcp net_tcp model data sgd piece
TRAIN_OBJ	:= $(TRAIN_SRC:%=$(O)/trainer/%.o) $(O)/trainer/kernels_plain.o
TRAIN_CFLAGS	 = $(ALL_CFLAGS) -D_GNU_SOURCE -O3 -Itrainer $(LIB_DEFINES)
ifneq ($(filter x86_64-%,$(shell $(CC) -dumpmachine)),)
TRAIN_OBJ	+= $(O)/trainer/kernels_avx2.o
endif

ZLIB		:= $(shell printf '\043include <zlib.h>\n' | $(CC) -E - >/dev/null 2>&1 && echo yes)
ifeq ($(ZLIB)$(filter uninstall,$(MAKECMDGOALS)),)
$(warning zlib.h is missing, so dlcp-train is not built (on Debian: zlib1g-dev))
else
ALL		+= $(TRAIN)
endif
DEPS		+= $(TRAIN_OBJ:.o=.d)

$(O)/trainer/%.o: trainer/%.c
	@mkdir -p $(@D)
	$(CC) $(TRAIN_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/trainer/kernels_plain.o: trainer/kernels.c
	@mkdir -p $(@D)
	$(CC) $(TRAIN_CFLAGS) -DVARIANT=plain -MMD -MP -c -o $@ $<

$(O)/trainer/kernels_avx2.o: trainer/kernels.c
	@mkdir -p $(@D)
	$(CC) $(TRAIN_CFLAGS) -ffp-contract=fast -mavx2 -mfma -DVARIANT=avx2 \
		-MMD -MP -c -o $@ $<

# Iterations whose computation is slept
REPLAY		:= $(O)/dlcp-replay
REPLAY_OBJ	:= $(addprefix $(O)/trainer/,replay.o net.o net_dlcp.o net_tcp.o)
ALL		+= $(REPLAY)
DEPS		+= $(O)/trainer/replay.d

$(REPLAY): $(REPLAY_OBJ) $(LIB_STATIC)
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ -lm

$(TRAIN): $(TRAIN_OBJ) $(LIB_STATIC)
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ -lz -lm

# Tests: the arithmetic, and the whole trainer over loopback
TRAIN_C		:= $(TRAIN_SRC:%=trainer/%.c)
TRAIN_K		 = $(filter $(O)/trainer/kernels_%,$(TRAIN_OBJ))

$(O)/tests/trainer/model: trainer/tests/test_model.c $(wildcard trainer/*.h) \
		trainer/model.c trainer/sgd.c trainer/net.c trainer/net_dlcp.c \
		trainer/net_tcp.c $(LIB_SRC:%=libdlcp/%.c) $(TRAIN_K)
	@mkdir -p $(@D)
	$(CC) $(TRAIN_CFLAGS) $(SAN) -Itests -o $@ $(filter %.c %.o,$^) -lm

$(O)/tests/dlcp-train: $(TRAIN_C) $(wildcard trainer/*.h) \
		$(LIB_SRC:%=libdlcp/%.c) $(TRAIN_K)
	@mkdir -p $(@D)
	$(CC) $(TRAIN_CFLAGS) $(SAN) -o $@ $(filter %.c %.o,$^) -lz -lm

CHECK_DEPS	+= $(O)/tests/trainer/model
CHECK		+= $(O)/tests/trainer/model
ifneq ($(ZLIB),)
CHECK_DEPS	+= $(O)/tests/dlcp-train $(TRAIN)
CHECK		+= trainer/tests/training trainer/tests/messages
endif
