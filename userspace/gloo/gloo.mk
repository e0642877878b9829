# SPDX-License-Identifier: GPL-2.0
# The Gloo device, where there is Gloo (libgloo-dev); for PyTorch also libtorch-dev

HAVE_GLOO	:= $(shell printf '\043include <gloo/config.h>\n' | \
			$(CXX) -x c++ -E - >/dev/null 2>&1 && echo yes)
HAVE_TORCH	:= $(shell printf '\043include <c10/util/Registry.h>\n' | \
			$(CXX) -x c++ -E - >/dev/null 2>&1 && echo yes)
GLOO_OBJ	:= $(patsubst %,$(O)/gloo/%.o,address context device group link link_io)
GLOO_CXXFLAGS	 = -std=c++17 $(WARN) -pthread -fPIC -fvisibility=hidden -I../uapi \
		   -Ilibdlcp -Igloo -O2 -g
GLOO_SHARED	:= $(O)/libgloo_dlcp.so
DEPS		+= $(GLOO_OBJ:.o=.d) $(O)/gloo/torch.d

$(O)/gloo/%.o: gloo/%.cc
	@mkdir -p $(@D)
	$(CXX) $(GLOO_CXXFLAGS) -MMD -MP -c -o $@ $<

$(GLOO_SHARED): $(GLOO_OBJ) $(O)/gloo/torch.o $(LIB_STATIC)
	$(CXX) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,--exclude-libs,ALL \
		-pthread -o $@ $^ -lgloo -ltorch_cpu -lc10

$(O)/tests/gloo: gloo/tests/test_gloo.cc $(GLOO_OBJ) $(LIB_STATIC) tests/check.h
	@mkdir -p $(@D)
	$(CXX) $(GLOO_CXXFLAGS) -Itests -o $@ $(filter %.cc %.o %.a,$^) -lgloo

# To compare dlcp-coll-perf with
GLOO_PERF	:= $(O)/gloo-perf
$(GLOO_PERF): tools/gloo-perf.cc $(GLOO_OBJ) $(LIB_STATIC)
	@mkdir -p $(@D)
	$(CXX) $(GLOO_CXXFLAGS) -o $@ $^ -lgloo

ifneq ($(HAVE_GLOO),)
ALL		+= $(GLOO_OBJ) $(GLOO_PERF)
GLOO_TEST	:= $(O)/tests/gloo
ifneq ($(HAVE_TORCH),)
ALL		+= $(GLOO_SHARED)

install-gloo: $(GLOO_SHARED)
	$(INSTALL) -d $(DESTDIR)$(LIBDIR) $(DESTDIR)$(INCLUDEDIR)
	$(INSTALL) -m 755 $(GLOO_SHARED) $(DESTDIR)$(LIBDIR)
	$(INSTALL) -m 644 gloo/gloo_dlcp.h $(DESTDIR)$(INCLUDEDIR)

install: install-gloo
.PHONY: install-gloo
endif
endif

CHECK_DEPS	+= $(GLOO_TEST)
CHECK		+= gloo/tests/run
CHECK_MODULE	+= gloo/tests/run
