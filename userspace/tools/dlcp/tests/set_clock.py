# SPDX-License-Identifier: GPL-2.0
"""set_clock.py 0|1: the kernel takes its clock for synchronised, or not, as NTP tells it."""
import ctypes
import struct
import sys

ADJ_MAXERROR, ADJ_ESTERROR, ADJ_STATUS, STA_UNSYNC = 4, 8, 16, 64
# struct timex: modes, offset, freq, maxerror, esterror, status, ...
buf = ctypes.create_string_buffer(struct.pack("=I4xqqqqi", ADJ_STATUS | ADJ_MAXERROR | ADJ_ESTERROR, 0, 0, 0, 0,
                                              0 if sys.argv[1] == "1" else STA_UNSYNC), 256)
if ctypes.CDLL(None, use_errno=True).adjtimex(buf) < 0:
    sys.exit("adjtimex: errno %d" % ctypes.get_errno())
