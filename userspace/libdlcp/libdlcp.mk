# SPDX-License-Identifier: GPL-2.0
# libdlcp, shared and static, and its tests

LIB_VERSION	:= 1.0.0
LIB_SONAME	:= libdlcp.so.1
LIB_SHARED	:= $(O)/libdlcp.so.$(LIB_VERSION)
LIB_STATIC	:= $(O)/libdlcp.a
LIB_SRC		:= $(sort $(patsubst libdlcp/%.c,%,$(wildcard libdlcp/*.c libdlcp/coll/*.c libdlcp/thc/*.c)))
LIB_OBJ		:= $(LIB_SRC:%=$(O)/libdlcp/%.o)
# coll/algo_NAME.c is an algorithm of the collectives: choose.c has them all
COLL_ALGOS	:= $(patsubst libdlcp/coll/algo_%.c,X(%),$(sort $(wildcard libdlcp/coll/algo_*.c)))
LIB_DEFINES	:= '-DCOLL_ALGOS(X)=$(COLL_ALGOS)'
LIB_CFLAGS	 = $(ALL_CFLAGS) -D_GNU_SOURCE -fPIC -fvisibility=hidden $(LIB_DEFINES)

ALL		+= $(LIB_SHARED) $(LIB_STATIC)
DEPS		+= $(LIB_OBJ:.o=.d)

$(O)/libdlcp/%.o: libdlcp/%.c
	@mkdir -p $(@D)
	$(CC) $(LIB_CFLAGS) -MMD -MP -c -o $@ $<

# When one comes or goes
$(O)/libdlcp/coll/choose.o $(O)/san/libdlcp/coll/choose.o: libdlcp/coll

# With objects whose source is gone scripts/floors would be wrong
$(LIB_STATIC): $(LIB_OBJ)
	rm -f $@ $(filter-out $(LIB_OBJ),$(wildcard $(O)/libdlcp/*.o $(O)/libdlcp/*/*.o))
	$(AR) rcs $@ $^

$(LIB_SHARED): $(LIB_OBJ) libdlcp/libdlcp.map
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(LIB_SONAME) \
		-Wl,--version-script=libdlcp/libdlcp.map -Wl,-z,defs \
		-pthread -o $@ $(LIB_OBJ) -lm
	ln -sf $(@F) $(O)/$(LIB_SONAME)
	ln -sf $(@F) $(O)/libdlcp.so

install-lib: $(LIB_SHARED) $(LIB_STATIC)
	$(INSTALL) -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR)/linux
	$(INSTALL) -m 755 $(LIB_SHARED) $(DESTDIR)$(LIBDIR)
	ln -sf $(notdir $(LIB_SHARED)) $(DESTDIR)$(LIBDIR)/$(LIB_SONAME)
	ln -sf $(LIB_SONAME) $(DESTDIR)$(LIBDIR)/libdlcp.so
	$(INSTALL) -m 644 $(LIB_STATIC) $(DESTDIR)$(LIBDIR)
	$(INSTALL) -m 644 libdlcp/dlcp.h libdlcp/dlcp_coll.h \
		libdlcp/dlcp_thc.h $(DESTDIR)$(INCLUDEDIR)
	$(INSTALL) -m 644 ../uapi/linux/dlcp.h ../uapi/linux/dlcp_netlink.h $(DESTDIR)$(INCLUDEDIR)/linux
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
	    -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' \
	    -e 's|@VERSION@|$(LIB_VERSION)|' libdlcp/libdlcp.pc.in \
	    > $(DESTDIR)$(LIBDIR)/pkgconfig/libdlcp.pc

uninstall-lib:
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,libdlcp.so* libdlcp.a pkgconfig/libdlcp.pc)
	rm -f $(addprefix $(DESTDIR)$(INCLUDEDIR)/,dlcp.h dlcp_coll.h dlcp_thc.h linux/dlcp.h linux/dlcp_netlink.h)

install: install-lib
uninstall: uninstall-lib
.PHONY: install-lib uninstall-lib

# Tests have the library's objects, under the sanitizers. fake.c stands in for
# the kernel: the calls below go to it.
LIB_TESTS	:= tags cmsg calls size ifname coll_reduce coll_feedback coll_send coll_choose thc
LIB_WRAP	:= $(foreach f,socket bind listen accept4 connect sendmsg \
			recvmsg poll setsockopt getsockopt realloc \
			getaddrinfo getifaddrs pthread_create,-Wl,--wrap=$(f))
SAN_OBJ		:= $(LIB_SRC:%=$(O)/san/libdlcp/%.o)
SAN_TEST	 = $(CC) $(LIB_CFLAGS) $(SAN) -Itests -o $@ $(filter %.c %.o,$^) -lm
SAN_HEADERS	:= $(wildcard libdlcp/*.h libdlcp/*/*.h tests/*.h)
DEPS		+= $(SAN_OBJ:.o=.d)
# Kept: make takes them for intermediate, and would compile them anew next time
.SECONDARY: $(SAN_OBJ)

$(O)/san/libdlcp/%.o: libdlcp/%.c
	@mkdir -p $(@D)
	$(CC) $(LIB_CFLAGS) $(SAN) -MMD -MP -c -o $@ $<

$(O)/tests/libdlcp/%: libdlcp/tests/test_%.c libdlcp/tests/fake.c libdlcp/tests/thread.c $(SAN_OBJ) \
		$(SAN_HEADERS)
	@mkdir -p $(@D)
	$(SAN_TEST) $(LIB_WRAP)

# Ranks that are threads, and a network that is memory
MEMORY_WRAP	:= $(foreach f,coll_rendezvous coll_limit_silence dlcp_send dlcp_recv dlcp_reports \
			dlcp_conn_error poll shutdown pthread_create,-Wl,--wrap=$(f))
MEMORY_TESTS	:= eager differ moves words broken

$(O)/tests/libdlcp/memory_%: libdlcp/tests/test_coll_%.c \
		libdlcp/tests/ranks.c libdlcp/tests/threads.c libdlcp/tests/thread.c $(SAN_OBJ) \
		$(SAN_HEADERS)
	@mkdir -p $(@D)
	$(SAN_TEST) $(MEMORY_WRAP)

# ThreadSanitizer needs a memory layout that not every kernel gives it, hence not
# part of all tests: make -C userspace tsan
$(O)/tests/libdlcp/tsan_%: libdlcp/tests/test_coll_%.c \
		libdlcp/tests/ranks.c libdlcp/tests/threads.c libdlcp/tests/thread.c \
		$(LIB_SRC:%=libdlcp/%.c) $(wildcard libdlcp/*.h libdlcp/*/*.h tests/*.h)
	@mkdir -p $(@D)
	$(CC) $(LIB_CFLAGS) -O1 -g -fsanitize=thread -Itests -o $@ $(filter %.c,$^) $(MEMORY_WRAP) -lm

tsan: $(MEMORY_TESTS:%=$(O)/tests/libdlcp/tsan_%)
	@tests/run $^

.PHONY: tsan

# How fast is the codec? make -C userspace thc-speed
$(O)/tests/thc-speed: libdlcp/tests/test_thc.c $(LIB_STATIC)
	@mkdir -p $(@D)
	$(CC) $(LIB_CFLAGS) -Itests -o $@ $< $(LIB_STATIC) -lm

thc-speed: $(O)/tests/thc-speed
	$< speed

.PHONY: thc-speed

# Against the real kernel, where it has the module. Without the sanitizers,
# which user-mode Linux cannot run.
$(O)/tests/live: libdlcp/tests/test_live.c $(LIB_STATIC) tests/check.h
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -D_GNU_SOURCE -Itests -o $@ $< $(LIB_STATIC) -lm

RANKS		:= libdlcp/tests/ranks.c libdlcp/tests/processes.c $(LIB_STATIC) libdlcp/tests/ranks.h \
		   tests/check.h $(wildcard libdlcp/*.h)
RANKS_CC	 = $(CC) $(ALL_CFLAGS) -D_GNU_SOURCE -Itests -o $@ \
		   $(filter %.c %.a,$^) -lm
$(O)/tests/coll-live: libdlcp/tests/test_coll_live.c $(RANKS)
	@mkdir -p $(@D)
	$(RANKS_CC) -Wl,--wrap=dlcp_send

$(O)/tests/coll-faults: libdlcp/tests/test_coll_faults.c $(RANKS)
	@mkdir -p $(@D)
	$(RANKS_CC)

$(O)/tests/coll-end: libdlcp/tests/test_coll_end.c $(RANKS)
	@mkdir -p $(@D)
	$(RANKS_CC)

$(O)/tests/coll-eager: libdlcp/tests/test_coll_eager.c $(RANKS)
	@mkdir -p $(@D)
	$(RANKS_CC)

$(O)/tests/coll-differ: libdlcp/tests/test_coll_differ.c $(RANKS)
	@mkdir -p $(@D)
	$(RANKS_CC)

$(O)/tests/coll-moves: libdlcp/tests/test_coll_moves.c $(RANKS)
	@mkdir -p $(@D)
	$(RANKS_CC)

# One rank; coll-lossy runs it
$(O)/tests/coll-loss: libdlcp/tests/test_coll_loss.c $(LIB_STATIC) $(wildcard libdlcp/*.h)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -D_GNU_SOURCE -o $@ $< $(LIB_STATIC) -lm

LIB_TEST_BIN	:= $(LIB_TESTS:%=$(O)/tests/libdlcp/%) \
		   $(MEMORY_TESTS:%=$(O)/tests/libdlcp/memory_%) $(O)/tests/live \
		   $(O)/tests/coll-live $(O)/tests/coll-faults \
		   $(O)/tests/coll-end $(O)/tests/coll-eager $(O)/tests/coll-differ \
		   $(O)/tests/coll-moves
CHECK_DEPS	+= $(LIB_TEST_BIN) $(O)/tests/coll-loss $(LIB_SHARED) $(LIB_STATIC)
CHECK		+= $(LIB_TEST_BIN) libdlcp/tests/consumer
