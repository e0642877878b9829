# SPDX-License-Identifier: LGPL-2.1-or-later
"""Operations under way: their handles and futures, and the threads that complete them."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import os
import queue
import select
import sys
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Callable, Optional

import torch
import torch.distributed as dist

from ._lib import DlcpError, check, lib
from .tensors import Result

if TYPE_CHECKING:
    from .group import DlcpGroup

    class _WORK(dist.distributed_c10d.Work):
        pass

    class _FUTURE(torch.futures.Future[Any]):
        pass
else:
    _WORK = getattr(dist, "_Work", None) or dist.distributed_c10d.Work
    _FUTURE = torch.futures.Future


def _refuse(waiting_for: threading.Thread, over: bool) -> None:
    """A thread that would complete what it waits for itself"""
    if not over and threading.current_thread() is waiting_for:
        raise DlcpError("this callback waits for what can only come after it: return, and wait in another thread")


def _fail(future: Future, error: Exception) -> None:
    """Complete a future with an error. In C++, which DistributedDataParallel is, it has a value then, the
    exception, and what it looks for in that are tensors, by pickling it: this comes out there."""

    def refuse(_protocol: object) -> Any:
        raise RuntimeError(str(error))

    setattr(error, "__reduce_ex__", refuse)
    future.set_exception(error)


class Callbacks(threading.Thread):
    """Runs what is attached to a group's futures: one callback after the other, in the order in which
    they were attached, so that operations they start come in the same order on all ranks. They may
    wait for any operation, as others complete those."""

    def __init__(self) -> None:
        super().__init__(name="dlcp-callbacks", daemon=True)
        self.jobs: queue.SimpleQueue[Optional[Callable[[], None]]] = queue.SimpleQueue()
        self.start()

    def end(self) -> None:
        """Waits for what was attached."""
        self.jobs.put(None)
        self.join()

    def run(self) -> None:
        for job in iter(self.jobs.get, None):
            job()


class Future(_FUTURE):
    """Of an operation, or of a callback. `by` is the thread that completes it."""

    def __init__(self, callbacks: Callbacks, by: threading.Thread) -> None:
        super().__init__()
        self.callbacks, self.by = callbacks, by

    def wait(self) -> Any:
        _refuse(self.by, self.done())
        return super().wait()

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """Never here and now, even if it is done already: on other ranks it may not be"""
        after = Future(self.callbacks, self.callbacks)

        def job() -> None:
            with contextlib.suppress(Exception):  # the callback will ask
                self.wait()
            try:
                after.set_result(callback(self))
            except Exception as error:  # pylint: disable=broad-except # for who waits
                _fail(after, error)

        self.callbacks.jobs.put(job)
        return after

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        self.then(callback)


class Work(_WORK):
    """An operation, with the thread that completes it and what becomes of it"""

    def __init__(self, by: threading.Thread, result: Result | None) -> None:
        super().__init__()
        self.by, self.value = by, result
        self.error: Exception | None = None
        self.future: Future | None = None
        self.over = threading.Event()

    def wait(self, timeout: timedelta | None = None) -> bool:
        _refuse(self.by, self.over.is_set())
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else None
        limit = seconds if seconds and seconds > 0 else None
        if not self.over.wait(limit):
            raise DlcpError(f"Timed out waiting {(limit or 0) * 1000:.0f}ms for the operation, which goes on")
        # The future has its value a moment later
        if self.future and threading.current_thread() is not self.by:
            with contextlib.suppress(Exception):
                self.future.wait()
        if self.error:
            raise self.error
        return True

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        return self.over.is_set()

    def is_success(self) -> bool:
        return self.over.is_set() and not self.error

    def exception(self) -> Exception | None:
        return self.error

    def result(self) -> Any:
        self.wait()
        return self.value

    def get_future(self) -> Future:
        assert self.future
        return self.future

    def forget_result(self) -> None:
        """Of a work that is over, and has to be there for wait() in C++ alone"""
        self.value = self.future = None


class Handled(Work):
    """An operation of libdlcp under way. `finish` runs once, when it is over; `keep` lives until then."""

    def __init__(self, group: DlcpGroup, keep: object, finish: Callable[[], None] | None, result: Result) -> None:
        super().__init__(group.waiter, result)
        self.handle = ctypes.c_void_p()
        self.finish, self.keep = finish, keep
        self.source = -1
        self.future = Future(group.callbacks, group.waiter)

    def complete(self) -> None:
        """In the group's thread."""
        try:
            self.source = lib.dlcp_coll_source(self.handle)
            check(lib.dlcp_coll_wait(self.handle, -1))
            if self.finish:
                self.finish()
        except Exception as error:  # pylint: disable=broad-except # for who waits
            self.error = error
        self.keep = self.finish = None
        promise = self.get_future()
        self.over.set()
        if self.error:
            _fail(promise, self.error)
        else:
            promise.set_result(self.value)

    def _source_rank(self) -> int:
        """The rank that a receive was from"""
        self.wait()
        return self.source


class Stepped(Work):
    """An operation in two steps: `rest(first's result)` starts more of them, and waits"""

    def __init__(self, group: DlcpGroup, first: Work, rest: Callable[[Any], None], result: Result) -> None:
        super().__init__(group.callbacks, result)
        self.future = first.get_future().then(lambda done: self._go_on(done, rest))

    def _go_on(self, done: Future, rest: Callable[[Any], None]) -> Result | None:
        try:
            rest(done.value())
        except Exception as error:
            self.error = error
            raise
        finally:
            self.over.set()
        return self.value


def _alone() -> int:
    """References that are counted where nobody else has one"""
    work, _ = collections.deque([(object(), 0)]).popleft()
    return sys.getrefcount(work)


class Retained:
    """Keeps works that were returned to C++ alive.

    C++ holds only its own half of such an object: once the half in Python is
    gone, wait() is that of the base class, which waits for ever. There is no
    telling when C++ is done with one, so the last ones are kept, but not
    their results, of which BYTES are enough.
    """

    WORKS, BYTES, ALONE = 1 << 14, 256 << 20, _alone()

    def __init__(self) -> None:
        self.whole: collections.deque[tuple[Work, int]] = collections.deque()
        self.bytes = 0
        self.empty: collections.deque[Work] = collections.deque(maxlen=self.WORKS)

    def add(self, work: Work, size: int) -> None:
        """@size: bytes of its results"""
        self.whole.append((work, size))
        self.bytes += size
        # More than are added, so that it comes to an end; those still wanted get another turn
        for _ in range(3):
            if self.bytes <= self.BYTES and len(self.whole) <= self.WORKS:
                break
            work, size = self.whole.popleft()
            if work.over.is_set() and sys.getrefcount(work) <= self.ALONE:
                work.forget_result()
                self.empty.append(work)
                self.bytes -= size
            else:
                self.whole.append((work, size))


class Waiter(threading.Thread):
    """Completes operations as they are over, whichever is first."""

    def __init__(self) -> None:
        super().__init__(name="dlcp", daemon=True)
        self.new: queue.SimpleQueue[Handled] = queue.SimpleQueue()
        self.stop = False
        self.poll = select.poll()
        self.wakeup, self.bell = os.pipe()
        os.set_blocking(self.wakeup, False)
        self.poll.register(self.wakeup, select.POLLIN)
        self.work: dict[int, Handled] = {}
        self.start()

    def add(self, work: Handled) -> None:
        """It is kept alive until it is over: DDP forgets it at once."""
        self.new.put(work)
        os.write(self.bell, b"x")

    def end(self) -> None:
        """Waits for what is under way."""
        self.stop = True
        os.write(self.bell, b"x")
        self.join()
        os.close(self.wakeup)
        os.close(self.bell)

    def _take_new(self) -> None:
        try:
            os.read(self.wakeup, 4096)
        except BlockingIOError:
            pass
        while not self.new.empty():
            work = self.new.get()
            fd = lib.dlcp_coll_fd(work.handle)
            self.work[fd] = work
            self.poll.register(fd, select.POLLIN)

    def run(self) -> None:
        while not self.stop or self.work or not self.new.empty():
            for fd, _ in self.poll.poll():
                if fd == self.wakeup:
                    self._take_new()
                    continue
                self.poll.unregister(fd)
                self.work.pop(fd).complete()
