# SPDX-License-Identifier: LGPL-2.1-or-later
"""libdlcp's collectives by ctypes: dlcp_coll.h says what they do."""

from __future__ import annotations

import ctypes
import os
from typing import Any

F32, F16, BF16, I8, I32, F64, I64, U8 = range(8)
SUM, AVG, MAX, MIN, PRODUCT, AND, OR, XOR = range(8)
ANY = -1


class DlcpError(RuntimeError):
    """What dlcp_last_error() says."""


class _Sized(ctypes.Structure):
    """A struct that begins with its size. Only by name are the others given: a
    later version may have more of them, and the first is the size."""

    def __init__(self, **members: Any) -> None:
        super().__init__(size=ctypes.sizeof(self), **members)


class Options(_Sized):
    """struct dlcp_coll_options"""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("rank", ctypes.c_int),
        ("world", ctypes.c_int),
        ("addrs", ctypes.c_char_p),
        ("master_addr", ctypes.c_char_p),
        ("master_port", ctypes.c_char_p),
        ("timeout_ms", ctypes.c_int),
        ("nr_servers", ctypes.c_int),
        ("dedicated", ctypes.c_int),
        ("chunk_bytes", ctypes.c_size_t),
        ("small_bytes", ctypes.c_size_t),
    ]


class Args(_Sized):
    """struct dlcp_coll_args"""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("tensor", ctypes.c_uint64),
        ("reduce", ctypes.c_uint8),
        ("algo", ctypes.c_uint8),
        ("correct", ctypes.c_uint8),
        ("prio", ctypes.c_uint8),
        ("loss_ppm", ctypes.c_uint32),
        ("loss2_ppm", ctypes.c_uint32),
        ("resync_every", ctypes.c_uint32),
        ("droppable", ctypes.c_float),
        ("critical", ctypes.c_float),
        ("step", ctypes.c_uint32),
    ]


class Stats(ctypes.Structure):
    """struct dlcp_coll_stats"""

    _fields_ = [(name, ctypes.c_uint64) for name in ("ops", "sent", "received", "missing", "fed_back")]


class PhaseState(_Sized):
    """struct dlcp_coll_phase"""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("low_ppm", ctypes.c_uint32),
        ("high_ppm", ctypes.c_uint32),
        ("threshold", ctypes.c_double),
        ("hold", ctypes.c_uint),
        ("last", ctypes.c_double),
        ("left", ctypes.c_uint),
    ]


def _declare(lib: Any) -> Any:
    ptr, size, num = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    args, handle = ctypes.POINTER(Args), ctypes.POINTER(ctypes.c_void_p)
    sizes = ctypes.POINTER(size)
    calls = {
        "dlcp_coll_address": (num, [ctypes.c_char_p, ctypes.c_char_p, size]),
        "dlcp_last_error": (ctypes.c_char_p, []),
        "dlcp_coll_options_init_sized": (None, [ctypes.POINTER(Options), size]),
        "dlcp_coll_open": (ptr, [ctypes.POINTER(Options)]),
        "dlcp_coll_close": (None, [ptr]),
        "dlcp_coll_abort": (None, [ptr, ctypes.c_char_p]),
        "dlcp_coll_set_timeout": (num, [ptr, num]),
        "dlcp_coll_all_reduce": (num, [ptr, ptr, ptr, size, num, args, handle]),
        "dlcp_coll_reduce_scatter": (num, [ptr, ptr, ptr, size, num, args, handle]),
        "dlcp_coll_all_gather": (num, [ptr, ptr, ptr, size, num, args, handle]),
        "dlcp_coll_broadcast": (num, [ptr, ptr, size, num, num, args, handle]),
        "dlcp_coll_reduce": (num, [ptr, ptr, ptr, size, num, num, args, handle]),
        "dlcp_coll_gather": (num, [ptr, ptr, ptr, size, num, num, args, handle]),
        "dlcp_coll_scatter": (num, [ptr, ptr, ptr, size, num, num, args, handle]),
        "dlcp_coll_all_to_all": (num, [ptr, ptr, sizes, ptr, sizes, num, args, handle]),
        "dlcp_coll_send": (num, [ptr, ptr, size, num, ctypes.c_uint32, ctypes.c_uint8, handle]),
        "dlcp_coll_recv": (num, [ptr, ptr, size, num, ctypes.c_uint32, handle]),
        "dlcp_coll_source": (num, [ptr]),
        "dlcp_coll_barrier": (num, [ptr, handle]),
        "dlcp_coll_wait": (num, [ptr, num]),
        "dlcp_coll_test": (num, [ptr]),
        "dlcp_coll_fd": (num, [ptr]),
        "dlcp_coll_get_stats_sized": (None, [ptr, ctypes.POINTER(Stats), size]),
        "dlcp_coll_prio": (ctypes.c_uint8, [ctypes.c_uint, ctypes.c_uint]),
        "dlcp_coll_phase_next": (ctypes.c_uint32, [ctypes.POINTER(PhaseState), ctypes.c_double]),
    }
    for name, (result, arguments) in calls.items():
        call = getattr(lib, name)
        call.restype, call.argtypes = result, arguments
    # As in the header: these know the size of their struct
    lib.dlcp_coll_options_init = lambda options: lib.dlcp_coll_options_init_sized(options, ctypes.sizeof(Options))
    lib.dlcp_coll_get_stats = lambda coll, stats: lib.dlcp_coll_get_stats_sized(coll, stats, ctypes.sizeof(Stats))
    return lib


def _load() -> Any:
    # A wheel brings its own
    own = os.path.join(os.path.dirname(__file__), "libdlcp.so.1")
    name = os.environ.get("DLCP_LIBRARY", own if os.path.exists(own) else "libdlcp.so.1")
    try:
        return _declare(ctypes.CDLL(name))
    except AttributeError as error:
        raise ImportError(f"libdlcp is too old for this package ({error}): install both of one version, or set DLCP_LIBRARY") from error
    except OSError as error:
        raise ImportError(f"cannot load libdlcp ({error}): install it (make install), or set DLCP_LIBRARY to its path") from error


lib = _load()


def check(failed: object) -> None:
    """Raise what the library says went wrong."""
    if failed:
        raise DlcpError(lib.dlcp_last_error().decode())
