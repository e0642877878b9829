# SPDX-License-Identifier: GPL-2.0
# The package for PyTorch: nothing to build

# Where Debian's python3 looks: below /usr/local in a folder of its version
PYTHON_VERSION	:= $(shell /usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
PYTHONDIR	?= $(PREFIX)/lib/python$(if $(filter /usr,$(PREFIX)),3,$(PYTHON_VERSION))/dist-packages

# By the entry point PyTorch finds the backend without an import, from 2.5 on
DIST_INFO	 = $(DESTDIR)$(PYTHONDIR)/dlcp-$(LIB_VERSION).dist-info

CHECK		+= torch/tests/run
CHECK_MODULE	+= torch/tests/run

install-torch:
	@[ -n "$(PYTHON_VERSION)" ] || { echo "There is no /usr/bin/python3: install python3" >&2; exit 1; }
	$(INSTALL) -d $(DESTDIR)$(PYTHONDIR)/dlcp
	$(INSTALL) -m 644 torch/dlcp/*.py torch/dlcp/py.typed $(DESTDIR)$(PYTHONDIR)/dlcp
	$(INSTALL) -m 644 torch/dlcp_autoload.py $(DESTDIR)$(PYTHONDIR)
	rm -rf $(DESTDIR)$(PYTHONDIR)/dlcp-*.dist-info
	$(INSTALL) -d $(DIST_INFO)
	printf '%s\n' 'Metadata-Version: 2.1' 'Name: dlcp' 'Version: $(LIB_VERSION)' \
		'Summary: PyTorch over DLCP' >$(DIST_INFO)/METADATA
	printf '%s\n' '[torch.backends]' 'dlcp = dlcp_autoload:autoload' >$(DIST_INFO)/entry_points.txt

# Of every Python that it was installed for
uninstall-torch:
	for dir in $(DESTDIR)$(PYTHONDIR) $(DESTDIR)$(PREFIX)/lib/python3*/dist-packages; do \
		rm -rf $$dir/dlcp $$dir/dlcp_autoload.py $$dir/__pycache__/dlcp_autoload.* $$dir/dlcp-*.dist-info; \
		rmdir $$dir/__pycache__ 2>/dev/null; \
	done; true

install: install-torch
uninstall: uninstall-torch
.PHONY: install-torch uninstall-torch
