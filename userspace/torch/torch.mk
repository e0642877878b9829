# SPDX-License-Identifier: GPL-2.0
# The package for PyTorch: nothing to build

# Where Debian's python3 looks: below /usr/local in a folder of its version
PYTHON_VERSION	:= $(shell /usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
PYTHONDIR	?= $(PREFIX)/lib/python$(if $(filter /usr,$(PREFIX)),3,$(PYTHON_VERSION))/dist-packages

CHECK		+= torch/tests/run
CHECK_MODULE	+= torch/tests/run

install-torch:
	$(INSTALL) -d $(DESTDIR)$(PYTHONDIR)/dlcp
	$(INSTALL) -m 644 torch/dlcp/*.py $(DESTDIR)$(PYTHONDIR)/dlcp

install: install-torch
.PHONY: install-torch
