# SPDX-License-Identifier: LGPL-2.1-or-later
"""What PyTorch calls by itself from 2.5 on. By its name it is no part of the package, whose import
may fail: that is no reason for PyTorch's own to do so."""

import warnings


def autoload() -> None:
    try:
        import dlcp  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
    except ImportError as error:
        warnings.warn(f"no backend dlcp: {error}")
