# SPDX-License-Identifier: GPL-2.0
# The Gloo device, where there is Gloo (libgloo-dev); for PyTorch also libtorch-dev.
# A Gloo for which it does not compile leaves it out, and stops nothing else:
# gloo/tests/versions tells those that must do. Since 2025 Gloo wants C++20.

HAVE_GLOO	:= $(shell printf '\043include <gloo/config.h>\n' | \
			$(CXX) -x c++ -E - >/dev/null 2>&1 && echo yes)
HAVE_TORCH	:= $(shell printf '\043include <c10/util/Registry.h>\n' | \
			$(CXX) -x c++ -E - >/dev/null 2>&1 && echo yes)
GLOO_OBJ	:= $(patsubst %,$(O)/gloo/%.o,address context device group link link_io)
GLOO_STD	?= c++17
GLOO_CXXFLAGS	 = -std=$(GLOO_STD) $(WARN) -Wno-inconsistent-missing-override -pthread -fPIC \
		   -fvisibility=hidden -I../uapi -Ilibdlcp -Igloo -O2 -g
GLOO_SHARED	:= $(O)/libgloo_dlcp.so
DEPS		+= $(GLOO_OBJ:.o=.d) $(O)/gloo/torch.d

$(O)/gloo/%.o: gloo/%.cc
	@mkdir -p $(@D)
	$(CXX) $(GLOO_CXXFLAGS) -MMD -MP -c -o $@ $<

$(GLOO_SHARED): $(GLOO_OBJ) $(O)/gloo/torch.o $(LIB_STATIC)
	$(CXX) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,--exclude-libs,ALL \
		-pthread -o $@ $^ -lgloo -ltorch_cpu -lc10

$(O)/tests/gloo $(O)/tests/gloo-ends: gloo/tests/ranks.h tests/check.h $(GLOO_OBJ) $(LIB_STATIC)
$(O)/tests/gloo: gloo/tests/test_gloo.cc
$(O)/tests/gloo-ends: gloo/tests/test_ends.cc
$(O)/tests/gloo $(O)/tests/gloo-ends:
	@mkdir -p $(@D)
	$(CXX) $(GLOO_CXXFLAGS) -Itests -o $@ $(filter %.cc %.o %.a,$^) -lgloo

# To compare dlcp coll-perf with
GLOO_PERF	:= $(O)/gloo-perf
$(GLOO_PERF): tools/gloo-perf.cc $(GLOO_OBJ) $(LIB_STATIC)
	@mkdir -p $(@D)
	$(CXX) $(GLOO_CXXFLAGS) -o $@ $^ -lgloo

GLOO_ALL	:= $(GLOO_OBJ) $(GLOO_PERF)
ifneq ($(HAVE_TORCH),)
GLOO_ALL	+= $(GLOO_SHARED)
endif
GLOO_TEST	:= $(O)/tests/gloo $(O)/tests/gloo-ends
GLOO_LOG	:= $(O)/gloo.log
# Twice: for Gloo's headers of today and of before
GLOO_TRY	 = mkdir -p $(O); for std in c++17 c++20; do \
			$(MAKE) --no-print-directory O=$(O) GLOO_STD=$$std $(1) >$(GLOO_LOG) 2>&1 && exit; \
		   done; echo "The Gloo device is left out: it does not build with the Gloo that is here (see $(GLOO_LOG))"

ifneq ($(HAVE_GLOO),)
ALL		+= gloo-device
gloo-device: $(LIB_STATIC)
	@$(call GLOO_TRY,gloo-build)

gloo-build: $(GLOO_ALL)

gloo-test: $(LIB_STATIC)
	@$(call GLOO_TRY,$(GLOO_TEST))

install-gloo: gloo-device
	[ ! -e $(GLOO_SHARED) ] || { $(INSTALL) -d $(DESTDIR)$(LIBDIR) $(DESTDIR)$(INCLUDEDIR) && \
		$(INSTALL) -m 755 $(GLOO_SHARED) $(DESTDIR)$(LIBDIR) && \
		$(INSTALL) -m 644 gloo/gloo_dlcp.h $(DESTDIR)$(INCLUDEDIR); }

install: install-gloo
else
ALL		+= gloo-device
gloo-device:
	@echo "The Gloo device is left out: there is no Gloo (apt-get install libgloo-dev)"
gloo-test:
endif

uninstall-gloo:
	rm -f $(DESTDIR)$(LIBDIR)/libgloo_dlcp.so $(DESTDIR)$(INCLUDEDIR)/gloo_dlcp.h

uninstall: uninstall-gloo

.PHONY: gloo-device gloo-build gloo-test install-gloo uninstall-gloo

CHECK_DEPS	+= gloo-test
CHECK		+= gloo/tests/run gloo/tests/versions
CHECK_MODULE	+= gloo/tests/run
