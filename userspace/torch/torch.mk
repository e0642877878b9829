# SPDX-License-Identifier: GPL-2.0
# The package for PyTorch: nothing to build

PYTHONDIR	?= $(PREFIX)/lib/python3/dist-packages

CHECK		+= torch/tests/run
CHECK_MODULE	+= torch/tests/run

install-torch:
	$(INSTALL) -d $(DESTDIR)$(PYTHONDIR)/dlcp
	$(INSTALL) -m 644 torch/dlcp/*.py $(DESTDIR)$(PYTHONDIR)/dlcp

install: install-torch
.PHONY: install-torch
