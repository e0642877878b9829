# SPDX-License-Identifier: GPL-2.0
# Wireshark's dissector. It goes where Wireshark looks, which is not below PREFIX: where Wireshark
# itself says, else where Debian's does.

WIRESHARK_DIRS	 = $(patsubst %/dlcp.lua,%,$(wildcard $(DESTDIR)/usr/lib/wireshark/plugins/dlcp.lua \
			$(DESTDIR)/usr/lib/*/wireshark/plugins/dlcp.lua $(DESTDIR)/usr/lib64/wireshark/plugins/dlcp.lua))
WIRESHARK_DIR	 = $(DESTDIR)$(or $(shell tshark -G folders 2>/dev/null | sed -n 's/^Global Lua Plugins:[[:space:]]*//p'), \
			/usr/lib/$(shell $(CC) -print-multiarch)/wireshark/plugins)

install-wireshark:
	dir="$(strip $(WIRESHARK_DIR))" && $(INSTALL) -d "$$dir" && $(INSTALL) -m 644 tools/wireshark/dlcp.lua "$$dir"

uninstall-wireshark:
	@for dir in $(WIRESHARK_DIRS); do rm -f $$dir/dlcp.lua; rmdir $$dir $${dir%/plugins} 2>/dev/null; done; true

install: install-wireshark
uninstall: uninstall-wireshark
.PHONY: install-wireshark uninstall-wireshark

$(O)/tests/wireshark-packets: tools/wireshark/tests/packets.c ../kmod/core/wire.c ../kmod/core/wire.h
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers \
		$(SAN) -I../kmod/core -I../selftests/core -o $@ $(filter %.c,$^)

CHECK_DEPS	+= $(O)/tests/wireshark-packets
CHECK		+= tools/wireshark/tests/dissect
CHECK_MODULE	+= tools/wireshark/tests/capture
