# SPDX-License-Identifier: LGPL-2.1-or-later
"""Run a script that knows nothing of this package, but for the backend's name.

    torchrun --nproc_per_node 4 -m dlcp train.py [ARGUMENT...]
    python3 -m dlcp train.py [ARGUMENT...]

PyTorch from 2.5 on finds the installed package by itself, and needs none of this.
"""

import os
import runpy
import sys

import dlcp  # noqa: F401  pylint: disable=unused-import


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit("usage: python3 -m dlcp SCRIPT [ARGUMENT...]")
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


main()
