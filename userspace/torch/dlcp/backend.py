# SPDX-License-Identifier: LGPL-2.1-or-later
"""Process groups over DLCP: how their ranks meet, and PyTorch's name for them."""

from __future__ import annotations

import ctypes
import functools
import inspect
import multiprocessing.process
import multiprocessing.util
import os
import socket
import sys
from datetime import timedelta
from typing import Any, Callable

import torch.distributed as dist

from ._lib import DlcpError, check, lib
from .group import DlcpGroup

_GROUPS: list[DlcpGroup] = []


def _rank_0(store: dist.Store) -> str:
    """The name or address by which others know this host, rank 0's"""
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    # A TCPStore knows; with a file there is only our own name
    return os.environ.get("MASTER_ADDR") or getattr(store, "host", None) or socket.gethostname()


def _local_address(master: str) -> str:
    """By which address of ours do others that reach `master` reach us?"""
    given = os.environ.get("DLCP_ADDR")
    if given:
        return given
    address = ctypes.create_string_buffer(64)
    check(lib.dlcp_coll_address(master.encode(), address, len(address)))
    return address.value.decode()


def _socket() -> socket.socket:
    """As libdlcp makes them: SOCK_DLCP, or by the type that AppArmor's profiles know"""
    try:
        return socket.socket(socket.AF_INET, 7, 0)
    except PermissionError:
        return socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 253)


def _free_port() -> int:
    """A DLCP port of the kernel's choice. It may be gone a moment later."""
    try:
        with _socket() as sock:
            sock.bind(("0.0.0.0", 0))
            return sock.getsockname()[1]
    except OSError as error:
        raise DlcpError(
            f"the running kernel has no DLCP ({error}): the module is not loaded (as root: modprobe dlcp)"
        ) from error


def _place(store: dist.Store, timeout: timedelta) -> str:
    """What rank 0 says. The store itself would wait for as long as the first group may."""
    try:
        store.wait(["dlcp"], timeout)
        return store.get("dlcp").decode()
    except RuntimeError as error:
        raise DlcpError(f"rank 0 of the group did not come within {timeout}: {error}") from error


def _meet(store: dist.Store, rank: int, size: int, timeout: timedelta) -> DlcpGroup:
    """All ranks, each in its group"""
    if rank == 0:
        try:
            place = f"{_local_address(_rank_0(store))} {_free_port()}"
        except DlcpError as error:
            store.set("dlcp", f"! {error}")
            raise
        store.set("dlcp", place)
    addr, port = _place(store, timeout).split(" ", 1)
    if addr == "!":
        raise DlcpError(f"rank 0: {port}")
    nested = dist.PrefixStore("callbacks", store)
    return DlcpGroup(rank, size, addr, port, timeout, store, lambda limit: _meet(nested, rank, size, limit))


def _create(store: dist.Store, rank: int, size: int, timeout: timedelta) -> DlcpGroup:
    _close_destroyed()
    group = _meet(store, rank, size, timeout)
    if not _GROUPS:
        # Unlike atexit also where a process of multiprocessing ends. Without a goodbye
        # others take this rank for dead.
        last = multiprocessing.util.Finalize(None, _close_all, exitpriority=0)
        if multiprocessing.parent_process() and hasattr(sys, "monitoring"):
            _look_at_end(last)
    _GROUPS.append(group)
    return group


def _close_destroyed() -> None:
    """Before 2.9 destroy_process_group() only forgets a group that is in Python."""
    known = dist.distributed_c10d._pg_map  # pylint: disable=protected-access
    for group in [group for group in _GROUPS if group not in known]:
        _GROUPS.remove(group)
        group.close()


def _failure() -> BaseException | None:
    """The error that ends this process, if one does. A process of multiprocessing is still at it; the
    interpreter has printed it, which it does after each line, too, that a person types."""
    error = sys.exc_info()[1]
    if error is None and not hasattr(sys, "ps1"):
        error = getattr(sys, "last_value", None)
    if isinstance(error, SystemExit):
        # PyTorch's processes end so when they have reported what they failed of
        error = (error.__context__ or error) if error.code else None
    return error


def _look_at_end(last: Callable[[], Any]) -> None:
    """Up to Python 3.12 a process of multiprocessing runs its finalizers while it has its error. Later it
    has reported and forgotten that before: from 3.13.5 on, if not earlier. Run @last as it reports.
    Nothing is slower for it, as only the lines of the function that begins and ends the process are
    looked at. @last runs once, and not in a child that fork() makes."""
    monitoring: Any = getattr(sys, "monitoring")
    begin = multiprocessing.process.BaseProcess._bootstrap  # type: ignore[attr-defined] # pylint: disable=protected-access
    # Those that have no name in Python are for anyone
    free = [tool for tool in (3, 4) if monitoring.get_tool(tool) in (None, "dlcp")]
    if not free:
        return

    def look(_code: object, _line: int) -> None:
        if _failure() is not None:
            last()

    if monitoring.get_tool(free[0]) is None:
        monitoring.use_tool_id(free[0], "dlcp")
    monitoring.register_callback(free[0], monitoring.events.LINE, look)
    monitoring.set_local_events(free[0], begin.__code__, monitoring.events.LINE)


def _close_all() -> None:
    """A goodbye takes until others are through. Nobody is to wait for a rank that failed."""
    error = _failure()
    while _GROUPS:
        group = _GROUPS.pop()
        if error is not None:
            group.abort(f"{type(error).__name__}: {error}")
        group.close()


def _with_monitored_barrier(original: Callable[..., None]) -> Callable[..., None]:
    """PyTorch has that for Gloo alone, whatever the group can do."""

    @functools.wraps(original)
    def monitored_barrier(group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
        chosen = dist.distributed_c10d._get_default_group() if group is None else group
        if isinstance(chosen, DlcpGroup):
            return chosen.monitored_barrier(timeout, wait_all_ranks=wait_all_ranks)
        return original(group, timeout, wait_all_ranks)

    return monitored_barrier


def _with_set_timeout(original: Callable[..., None]) -> Callable[..., None]:
    """Of 2.x before dist.set_timeout(), where it is for Gloo and NCCL alone"""

    @functools.wraps(original)
    def set_timeout(timeout: timedelta, group: Any = None) -> None:
        chosen = dist.distributed_c10d._get_default_group() if group is None else group
        if isinstance(chosen, DlcpGroup):
            return chosen.set_timeout(timeout)
        return original(timeout, group)

    return set_timeout


def register() -> None:
    """Make "dlcp" a backend of torch.distributed."""
    if hasattr(dist.Backend, "DLCP"):
        return
    more: dict[str, Any] = {}
    if "devices" in inspect.signature(dist.Backend.register_backend).parameters:
        more["devices"] = ["cpu"]
    dist.Backend.register_backend("dlcp", _create, **more)
    ours = _with_monitored_barrier(dist.monitored_barrier)
    dist.monitored_barrier = dist.distributed_c10d.monitored_barrier = ours
    if hasattr(dist.distributed_c10d, "_set_pg_timeout") and not hasattr(dist, "set_timeout"):
        dist.distributed_c10d._set_pg_timeout = _with_set_timeout(dist.distributed_c10d._set_pg_timeout)
