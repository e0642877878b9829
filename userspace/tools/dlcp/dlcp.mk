# SPDX-License-Identifier: GPL-2.0
# dlcp, the operator's tool

TOOL		:= $(O)/dlcp
# What wants a library is added below
TOOL_SRC	:= counters $(filter-out top netlink diag kill,$(sort $(patsubst tools/dlcp/%.c,%,$(wildcard tools/dlcp/*.c))))
# dlcp top
NCURSES		:= $(shell $(PKG_CONFIG) --libs ncursesw 2>/dev/null)
TOOL_SRC	+= $(if $(NCURSES),top)
# All that shows sockets
MNL		:= $(shell $(PKG_CONFIG) --libs libmnl 2>/dev/null)
TOOL_SRC	+= $(if $(MNL),netlink diag kill)
TOOL_OBJ	:= $(TOOL_SRC:%=$(O)/tools/dlcp/%.o)
TOOL_CFLAGS	 = $(ALL_CFLAGS) -D_GNU_SOURCE -Itools/dlcp -I$(O)/tools/dlcp
SBINDIR		?= $(PREFIX)/sbin
COMPLETIONDIR	?= $(PREFIX)/share/bash-completion/completions
ZSHDIR		?= $(PREFIX)/share/zsh/site-functions
ALL		+= $(TOOL)
DEPS		+= $(TOOL_OBJ:.o=.d)

# What each counter counts: one description, that of the documents
$(O)/tools/dlcp/counters.c: ../Documentation/counters.md tools/dlcp/counters.awk
	@mkdir -p $(@D)
	awk -v version=$(LIB_VERSION) -f tools/dlcp/counters.awk $< >$@

$(O)/tools/dlcp/counters.o: $(O)/tools/dlcp/counters.c
	$(CC) $(TOOL_CFLAGS) -MMD -MP -c -o $@ $<

# Written anew only when the commit is another one
$(O)/tools/dlcp/commit.h: tools/dlcp/always
	@mkdir -p $(@D)
	@echo "#define TOOL_COMMIT \"$$(git describe --always --dirty 2>/dev/null)\"" >$@.new
	@cmp -s $@.new $@ || cp $@.new $@
	@rm $@.new

.PHONY: tools/dlcp/always

$(O)/tools/dlcp/page.o: $(O)/tools/dlcp/commit.h

$(O)/tools/dlcp/%.o: tools/dlcp/%.c
	@mkdir -p $(@D)
	$(CC) $(TOOL_CFLAGS) -MMD -MP -c -o $@ $<

$(TOOL): $(TOOL_OBJ) $(LIB_STATIC)
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ -lm $(NCURSES) $(MNL)
	$(if $(MNL),,@echo "dlcp show, and all that asks for sockets, is left out: there is no libmnl (apt-get install libmnl-dev)")
	$(if $(NCURSES),,@echo "dlcp top is left out: there is no ncurses (apt-get install libncurses-dev)")

$(O)/tests/dlcp_parse: tools/dlcp/tests/test_parse.c \
		$(addprefix tools/dlcp/,addr.c conns.c filter.c hist.c paths.c say.c source.c table.c) tools/dlcp/tool.h tests/check.h
	@mkdir -p $(@D)
	$(CC) $(TOOL_CFLAGS) $(SAN) -Itests -o $@ $(filter %.c,$^) -lm

install-tool: $(TOOL)
	$(INSTALL) -D -m 755 $(TOOL) $(DESTDIR)$(SBINDIR)/dlcp
	$(INSTALL) -D -m 644 -t $(DESTDIR)$(MANDIR)/man8 man/dlcp.8 man/dlcp-perf.8
	$(INSTALL) -D -m 644 tools/dlcp/completion.bash $(DESTDIR)$(COMPLETIONDIR)/dlcp
	$(INSTALL) -D -m 644 tools/dlcp/completion.zsh $(DESTDIR)$(ZSHDIR)/_dlcp

uninstall-tool:
	rm -f $(DESTDIR)$(SBINDIR)/dlcp $(addprefix $(DESTDIR)$(MANDIR)/man8/,dlcp.8 dlcp-perf.8) $(DESTDIR)$(COMPLETIONDIR)/dlcp $(DESTDIR)$(ZSHDIR)/_dlcp
	@for dir in $(MANDIR)/man8 $(COMPLETIONDIR) $(dir $(COMPLETIONDIR)) $(ZSHDIR) $(dir $(ZSHDIR)); do \
		rmdir $(DESTDIR)$$dir 2>/dev/null; done; true

install: install-tool
uninstall: uninstall-tool
.PHONY: install-tool uninstall-tool

CHECK_DEPS	+= $(O)/tests/dlcp_parse $(TOOL)
CHECK		+= $(O)/tests/dlcp_parse tools/dlcp/tests/monitoring tools/dlcp/tests/coll-perf tools/dlcp/tests/messages tools/dlcp/tests/perf tools/dlcp/tests/names tools/dlcp/tests/saved_files tools/dlcp/tests/top tools/dlcp/tests/installed
CHECK_MODULE	+= tools/dlcp/tests/top tools/dlcp/tests/coll-perf tools/dlcp/tests/live tools/dlcp/tests/ss tools/dlcp/tests/ynl tools/dlcp/tests/faults tools/dlcp/tests/faults_node tools/dlcp/tests/faults_here tools/dlcp/tests/perf tools/dlcp/tests/names tools/dlcp/tests/trace tools/dlcp/tests/documented
