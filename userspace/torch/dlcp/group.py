# SPDX-License-Identifier: LGPL-2.1-or-later
"""The process group: torch.distributed's calls as operations of libdlcp."""

import collections
import contextlib
import ctypes
import inspect
import ipaddress
import multiprocessing.util
import os
import queue
import select
import socket
import sys
import threading
from datetime import timedelta

import torch
import torch.distributed as dist

from . import _lib
from ._lib import Args, DlcpError, Options, Stats, check, lib

_WORK = getattr(dist, "_Work", None) or dist.distributed_c10d.Work
_TYPES = {
    torch.float32: _lib.F32,
    torch.float16: _lib.F16,
    torch.bfloat16: _lib.BF16,
    torch.int8: _lib.I8,
    torch.int32: _lib.I32,
}
# These go as bytes. All ranks must mean the same: where nothing is reduced, libdlcp compares these
# arguments, and gives them no meaning.
_AS_BYTES = {
    dtype: Args(reduce=number // 3, correct=number % 3)
    for number, dtype in enumerate(
        (torch.float64, torch.int64, torch.uint8, torch.bool, torch.int16, torch.complex64, torch.complex128), 1
    )
}
_REDUCTIONS = {"SUM": _lib.SUM, "AVG": _lib.AVG, "MAX": _lib.MAX}


def _refuse(waiting_for, over):
    """A thread that would complete what it waits for itself"""
    if not over and threading.current_thread() is waiting_for:
        raise DlcpError("this callback waits for what can only come after it")


def _fail(future, error):
    """Complete a future with an error. In C++, which DistributedDataParallel is, it has a value then, the
    exception, and what it looks for in that are tensors, by pickling it: this comes out there."""

    def refuse(_protocol):
        raise RuntimeError(str(error))

    error.__reduce_ex__ = refuse
    future.set_exception(error)


class _Callbacks(threading.Thread):
    """Runs what is attached to a group's futures: one callback after the other, in the order in which
    they were attached, so that operations they start come in the same order on all ranks. They may
    wait for any operation, as others complete those."""

    def __init__(self):
        super().__init__(name="dlcp-callbacks", daemon=True)
        self.jobs = queue.SimpleQueue()
        self.start()

    def end(self):
        """Waits for what was attached."""
        self.jobs.put(None)
        self.join()

    def run(self):
        for job in iter(self.jobs.get, None):
            job()


class _Future(torch.futures.Future):
    """Of an operation, or of a callback. `by` is the thread that completes it."""

    def __init__(self, callbacks, by):
        super().__init__()
        self.callbacks, self.by = callbacks, by

    def wait(self):
        _refuse(self.by, self.done())
        return super().wait()

    def then(self, callback):
        """Never here and now, even if it is done already: on other ranks it may not be"""
        after = _Future(self.callbacks, self.callbacks)

        def job():
            with contextlib.suppress(Exception):  # the callback will ask
                self.wait()
            try:
                after.set_result(callback(self))
            except Exception as error:  # pylint: disable=broad-except # for who waits
                _fail(after, error)

        self.callbacks.jobs.put(job)
        return after

    def add_done_callback(self, callback):
        self.then(callback)


class _Handled(_WORK):
    """An operation under way. `finish` runs once, when it is over."""

    def __init__(self, group, finish, result):
        super().__init__()
        self.handle = ctypes.c_void_p()
        self.group, self.finish, self.value = group, finish, result
        self.error = self.keep = None
        self.over = threading.Event()
        self.future = _Future(group.callbacks, group.waiter)

    def complete(self):
        """In the group's thread."""
        try:
            check(lib.dlcp_coll_wait(self.handle, -1))
            if self.finish:
                self.finish()
        except Exception as error:  # pylint: disable=broad-except # for who waits
            self.error = error
        self.keep = self.finish = None
        self.over.set()
        if self.error:
            _fail(self.future, self.error)
        else:
            self.future.set_result(self.value)

    def wait(self, timeout=None):
        _refuse(self.group.waiter, self.over.is_set())
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else None
        if not self.over.wait(seconds if seconds and seconds > 0 else None):
            raise DlcpError("the operation is not over in time")
        if self.error:
            raise self.error
        return True

    def synchronize(self):
        self.wait()

    def is_completed(self):
        return self.over.is_set()

    def is_success(self):
        return self.over.is_set() and not self.error

    def exception(self):
        return self.error

    def result(self):
        self.wait()
        return self.value

    def get_future(self):
        return self.future

    def forget_result(self):
        """Of a work that is over, and has to be there for wait() in C++ alone"""
        self.value = self.future = None


def _alone():
    """References that are counted where nobody else has one"""
    work, _ = collections.deque([(object(), 0)]).popleft()
    return sys.getrefcount(work)


class _Retained:
    """Keeps works that were returned to C++ alive.

    C++ holds only its own half of such an object: once the half in Python is
    gone, wait() is that of the base class, which waits for ever. There is no
    telling when C++ is done with one, so the last ones are kept, but not
    their results, of which BYTES are enough.
    """

    WORKS, BYTES, ALONE = 1 << 14, 256 << 20, _alone()

    def __init__(self):
        self.whole, self.bytes = collections.deque(), 0
        self.empty = collections.deque(maxlen=self.WORKS)

    def add(self, work, size):
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


class _Waiter(threading.Thread):
    """Completes operations as they are over, whichever is first."""

    def __init__(self):
        super().__init__(name="dlcp", daemon=True)
        self.new, self.stop = queue.SimpleQueue(), False
        self.poll = select.poll()
        self.wakeup, self.bell = os.pipe()
        os.set_blocking(self.wakeup, False)
        self.poll.register(self.wakeup, select.POLLIN)
        self.work = {}
        self.start()

    def add(self, work):
        """It is kept alive until it is over: DDP forgets it at once."""
        self.new.put(work)
        os.write(self.bell, b"x")

    def end(self):
        """Waits for what is under way."""
        self.stop = True
        os.write(self.bell, b"x")
        self.join()
        os.close(self.wakeup)
        os.close(self.bell)

    def _take_new(self):
        try:
            os.read(self.wakeup, 4096)
        except BlockingIOError:
            pass
        while not self.new.empty():
            work = self.new.get()
            fd = lib.dlcp_coll_fd(work.handle)
            self.work[fd] = work
            self.poll.register(fd, select.POLLIN)

    def run(self):
        while not self.stop or self.work or not self.new.empty():
            for fd, _ in self.poll.poll():
                if fd == self.wakeup:
                    self._take_new()
                    continue
                self.poll.unregister(fd)
                self.work.pop(fd).complete()


def _flat(tensor):
    """The tensor's own memory if possible, else a copy"""
    if tensor.device.type != "cpu":
        raise DlcpError(f"DLCP carries CPU tensors, not those of {tensor.device}")
    if tensor.layout != torch.strided:
        raise DlcpError("DLCP carries dense tensors")
    return tensor.detach().contiguous().view(-1)


def _fill(tensor, flat):
    """Bring a result to where it belongs, if it is not there already"""
    if flat.data_ptr() != tensor.data_ptr():
        tensor.detach().copy_(flat.view_as(tensor))


def _fill_all(tensors, whole):
    for tensor, flat in zip(tensors, whole.split([t.numel() for t in tensors])):
        _fill(tensor, flat)


def _as_elements(flat):
    """What libdlcp is to carry as it is: count, type and arguments"""
    if flat.dtype in _TYPES:
        return flat.numel(), _TYPES[flat.dtype], None
    return bytes_of(flat), _lib.I8, _AS_BYTES.get(flat.dtype, Args())


def bytes_of(result):
    """Of a tensor, or of a list of them"""
    if isinstance(result, torch.Tensor):
        return result.numel() * result.element_size()
    return sum(bytes_of(one) for one in result)


def _reduction(opts):
    op = getattr(opts, "reduceOp", dist.ReduceOp.SUM)
    # In 1.13 a RedOpType, in 2.x a ReduceOp around one
    for name, number in _REDUCTIONS.items():
        if op == getattr(dist.ReduceOp, name):
            return number
    raise DlcpError(f"DLCP can add, average and find the maximum, but not {getattr(op, 'op', op)}")


def _one(tensors):
    if len(tensors) != 1:
        raise DlcpError("one tensor for each rank, please")
    return tensors[0]


class DlcpGroup(dist.ProcessGroup):
    """A process group over DLCP.

    @make_nested: makes another group of the same ranks, for operations that
    callbacks of this one's futures start: nobody knows where among the others
    they would come
    """

    def __init__(self, rank, size, addr, port, timeout, make_nested=None):
        super().__init__(rank, size)
        self._rank, self._size = rank, size
        options = Options()
        lib.dlcp_coll_options_init(ctypes.byref(options))
        options.rank, options.world = rank, size
        options.master_addr, options.master_port = addr.encode(), str(port).encode()
        options.timeout_ms = max(1, min(int(timeout.total_seconds() * 1000), 2**31 - 1))
        # as the struct has only their addresses
        self._kept = (options.master_addr, options.master_port)
        self._coll = lib.dlcp_coll_open(ctypes.byref(options))
        check(not self._coll)
        self._make_nested, self._nested = make_nested, None
        self._group_name = ""
        self.waiter, self.callbacks = _Waiter(), _Callbacks()
        self._lock = threading.Lock()
        self._retained = _Retained()

    # --- what torch asks of a group

    def rank(self):
        return self._rank

    def size(self):
        return self._size

    def name(self):
        return "dlcp"

    def getBackendName(self):  # pylint: disable=invalid-name # torch's
        """In torch 2.x"""
        return "dlcp"

    def _set_group_name(self, name):
        """2.x would have it kept by a backend in C++, and finds groups by it in functional collectives"""
        self._group_name = name

    @property
    def group_name(self):
        """In torch 2.x"""
        return self._group_name

    def _for_callbacks(self):
        if not self._nested:
            if not self._make_nested:
                raise DlcpError("this group has no other one for operations that callbacks start")
            self._nested = self._make_nested()
        return self._nested

    def _start(self, call, keep, finish, result):
        """Start call(group, handle); @keep lives until it is over."""
        if threading.current_thread() is self.callbacks:
            return self._for_callbacks()._start(call, keep, finish, result)
        work = _Handled(self, finish, result)
        work.keep = keep
        with self._lock:
            self._refuse_closed()
            check(call(self._coll, ctypes.byref(work.handle)))
            self._retained.add(work, bytes_of(result))
            self.waiter.add(work)  # before close() waits for all that it has
        return work

    def _refuse_closed(self):
        if not self._coll:
            raise DlcpError("the process group was destroyed")

    def reduce_flat(self, flat, args, result=None, finish=None):
        """All-reduce a contiguous tensor in place, with libdlcp's arguments."""
        kind = _TYPES[flat.dtype]
        return self._start(
            lambda coll, handle: lib.dlcp_coll_all_reduce(
                coll, flat.data_ptr(), flat.data_ptr(), flat.numel(), kind, args, handle
            ),
            flat,
            finish,
            [flat] if result is None else result,
        )

    def scatter_flat(self, source, out, args, result=None, finish=None):
        """Reduce-scatter: source has size() times the elements of out."""
        return self._start(
            lambda coll, handle: lib.dlcp_coll_reduce_scatter(
                coll, source.data_ptr(), out.data_ptr(), out.numel(), _TYPES[out.dtype], args, handle
            ),
            (source, out),
            finish,
            [out] if result is None else result,
        )

    def gather_flat(self, source, out, result=None, finish=None):
        """All-gather. Types that libdlcp does not know go as bytes."""
        count, kind, args = _as_elements(source)
        return self._start(
            lambda coll, handle: lib.dlcp_coll_all_gather(
                coll, source.data_ptr(), out.data_ptr(), count, kind, args, handle
            ),
            (source, out),
            finish,
            [out] if result is None else result,
        )

    def stats(self):
        """Counters, as struct dlcp_coll_stats has them."""
        stats = Stats()
        with self._lock:
            self._refuse_closed()
            lib.dlcp_coll_get_stats(self._coll, ctypes.byref(stats))
        more = self._nested.stats() if self._nested else {}
        return {name: getattr(stats, name) + more.get(name, 0) for name, _ in Stats._fields_}

    def _reduce_by_gather(self, flat, number, result, finish):
        """For types that libdlcp does not add: finish(reduction)"""
        parts = torch.empty((self._size, flat.numel()), dtype=flat.dtype)

        def reduce():
            total = parts.max(0)[0] if number == _lib.MAX else parts.sum(0, dtype=flat.dtype)
            if number == _lib.AVG:
                exact = flat.is_floating_point() or flat.is_complex()
                total = torch.div(total, self._size, rounding_mode=None if exact else "trunc")
            finish(total)

        return self.gather_flat(flat, parts.view(-1), result, reduce)

    def _all_reduce(self, flat, opts, result, finish):
        """finish(reduction), for which flat's memory may be used"""
        number = _reduction(opts)
        if flat.dtype not in _TYPES:
            return self._reduce_by_gather(flat, number, result, finish)
        return self.reduce_flat(flat, Args(reduce=number), result, lambda: finish(flat))

    def allreduce(self, tensors, opts=None):
        tensor = _one(tensors)
        return self._all_reduce(_flat(tensor), opts, [tensor], lambda total: _fill(tensor, total))

    def allreduce_coalesced(self, tensors, opts=None):
        whole = torch.cat([_flat(t) for t in tensors])
        return self._all_reduce(whole, opts, list(tensors), lambda total: _fill_all(tensors, total))

    def reduce(self, tensors, opts):
        """As all-reduce, of which all but the root throw the result away"""
        tensor = _one(tensors)
        self._check_root(opts)

        def finish(total):
            if self._rank == opts.rootRank:
                _fill(tensor, total)

        return self._all_reduce(_flat(tensor).clone(), opts, [tensor], finish)

    def broadcast(self, tensors, opts=None):
        tensor = _one(tensors)
        flat = _flat(tensor)
        root = getattr(opts, "rootRank", 0)
        count, kind, args = _as_elements(flat)
        return self._start(
            lambda coll, handle: lib.dlcp_coll_broadcast(coll, flat.data_ptr(), count, kind, root, args, handle),
            flat,
            lambda: _fill(tensor, flat),
            [tensor],
        )

    def allgather(self, output_tensors, input_tensors, opts=None):
        outputs, flat = _one(output_tensors), _flat(_one(input_tensors))
        if len(outputs) != self._size:
            raise DlcpError(f"{len(outputs)} outputs for {self._size} ranks")
        if any(output.dtype != flat.dtype or output.numel() != flat.numel() for output in outputs):
            raise DlcpError("each output must be of the input's type and size")
        parts = torch.empty(self._size * flat.numel(), dtype=flat.dtype)
        return self.gather_flat(flat, parts, [outputs], lambda: _fill_all(outputs, parts))

    def _check_gather(self, output, tensor):
        if output.dtype != tensor.dtype or output.numel() != tensor.numel() * self._size:
            raise DlcpError("the output must be of the inputs' type, with room for all")

    def _allgather_base(self, output, tensor, opts=None):
        self._check_gather(output, tensor)
        flat = _flat(output)
        return self.gather_flat(_flat(tensor), flat, [output], lambda: _fill(output, flat))

    def allgather_coalesced(self, output_lists, inputs, opts=None):
        raise DlcpError("all_gather_coalesced is not supported over DLCP")

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
        """In torch 2.x. They go as bytes, of whatever types"""
        for output, tensor in zip(outputs, inputs):
            self._check_gather(output, tensor)
        whole = torch.cat([_flat(t).view(torch.uint8) for t in inputs])
        parts = torch.empty((self._size, whole.numel()), dtype=torch.uint8)

        def finish():
            for output, part in zip(outputs, parts.split([bytes_of(t) for t in inputs], 1)):
                _fill(output, part.flatten().clone().view(output.dtype))

        return self.gather_flat(whole, parts.view(-1), list(outputs), finish)

    def reduce_scatter(self, output_tensors, input_tensors, opts=None):
        output, inputs = _one(output_tensors), _one(input_tensors)
        return self._reduce_scatter_base(output, torch.cat([_flat(t) for t in inputs]), opts)

    def _check_scatter(self, output, tensor):
        if output.dtype != tensor.dtype or output.numel() * self._size != tensor.numel():
            raise DlcpError("the input must be of the outputs' type, and as large as all together")

    def _reduce_scatter(self, source, flat, opts, result, finish):
        """finish() when flat has this rank's part of the sum"""
        number = _reduction(opts)
        if flat.dtype in _TYPES:
            return self.scatter_flat(source, flat, Args(reduce=number), result, finish)
        at = self._rank * flat.numel()

        def take(total):
            flat.copy_(total[at : at + flat.numel()])
            finish()

        return self._reduce_by_gather(source, number, result, take)

    def _reduce_scatter_base(self, output, tensor, opts=None):
        self._check_scatter(output, tensor)
        flat = _flat(output)
        return self._reduce_scatter(_flat(tensor), flat, opts, [output], lambda: _fill(output, flat))

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts=None):
        """In torch 2.x"""
        for output, tensor in zip(outputs, inputs):
            self._check_scatter(output, tensor)
            if output.dtype != outputs[0].dtype:
                raise DlcpError("tensors of one type, please")
        whole = torch.cat([_flat(t).view(self._size, -1) for t in inputs], 1).view(-1)
        flat = torch.empty(whole.numel() // self._size, dtype=whole.dtype)
        return self._reduce_scatter(whole, flat, opts, list(outputs), lambda: _fill_all(outputs, flat))

    def _check_root(self, opts):
        if not 0 <= opts.rootRank < self._size:
            raise DlcpError(f"root {opts.rootRank} of {self._size} ranks")

    def gather(self, output_tensors, input_tensors, opts):
        tensor = _one(input_tensors)
        self._check_root(opts)
        if self._rank == opts.rootRank:
            outputs = output_tensors
        else:
            outputs = [[torch.empty_like(tensor) for _ in range(self._size)]]
        return self.allgather(outputs, input_tensors)

    def scatter(self, output_tensors, input_tensors, opts):
        output = _one(output_tensors)
        if self._rank == opts.rootRank:
            whole = torch.cat([_flat(t) for t in _one(input_tensors)])
        else:
            whole = torch.empty(output.numel() * self._size, dtype=output.dtype)
        work = self.broadcast([whole], opts)
        work.wait()
        at = self._rank * output.numel()
        _fill(output, whole[at : at + output.numel()])
        return work

    def barrier(self, opts=None):
        return self._start(lambda coll, handle: lib.dlcp_coll_barrier(coll, handle), None, None, [])

    def send(self, tensors, dst_rank, tag=0):
        raise DlcpError("send and recv are not supported over DLCP: use another group for them")

    def recv(self, tensors, src_rank, tag=0):
        raise DlcpError("send and recv are not supported over DLCP: use another group for them")

    def alltoall(self, outputs, inputs, opts=None):
        raise DlcpError("all_to_all is not supported over DLCP: use another group for it")

    def alltoall_base(self, output, tensor, output_sizes, input_sizes, opts=None):
        raise DlcpError("all_to_all is not supported over DLCP: use another group for it")

    def abort(self, why="aborted"):
        """End the group on all ranks."""
        for group in (self, self._nested):
            if group:
                group._abort(why)

    def _abort(self, why):
        with self._lock:
            if self._coll:
                lib.dlcp_coll_abort(self._coll, why.encode())

    def close(self):
        """Leave the group; done at exit for groups that still exist."""
        with self._lock:
            coll, self._coll = self._coll, None
        if coll:
            self.waiter.end()
            self.callbacks.end()
            if self._nested:
                self._nested.close()
            lib.dlcp_coll_close(coll)

    def shutdown(self):
        """What destroy_process_group() calls, in later 2.x"""
        self.close()

    def __del__(self):
        if getattr(self, "_coll", None):
            self.close()


# --- making one

_GROUPS = []


def _rank_0(store):
    """The name or address by which others know this host, rank 0's"""
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    # A TCPStore knows; with a file there is only our own name
    return os.environ.get("MASTER_ADDR") or getattr(store, "host", None) or socket.gethostname()


def _local_address(master):
    """By which address of ours do others that reach `master` reach us?"""
    given = os.environ.get("DLCP_ADDR")
    if given:
        return given
    try:
        family, _, _, _, where = socket.getaddrinfo(master, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.connect(where)
            address = sock.getsockname()[0]
            # On this host the name may stand for no address that others could use
            return master if ipaddress.ip_address(address).is_loopback else address
    except OSError:
        return master


def _free_port():
    """A DLCP port of the kernel's choice. It may be gone a moment later."""
    try:
        with socket.socket(socket.AF_INET, 7, 0) as sock:  # SOCK_DLCP
            sock.bind(("0.0.0.0", 0))
            return sock.getsockname()[1]
    except OSError as error:
        raise DlcpError(
            f"the running kernel has no DLCP ({error}): the module is not loaded (as root: modprobe dlcp)"
        ) from error


def _meet(store, rank, size, timeout):
    """All ranks, each in its group"""
    if rank == 0:
        try:
            place = f"{_local_address(_rank_0(store))} {_free_port()}"
        except DlcpError as error:
            store.set("dlcp", f"! {error}")
            raise
        store.set("dlcp", place)
    addr, port = store.get("dlcp").decode().split(" ", 1)
    if addr == "!":
        raise DlcpError(f"rank 0: {port}")
    nested = dist.PrefixStore("callbacks", store)
    return DlcpGroup(rank, size, addr, port, timeout, lambda: _meet(nested, rank, size, timeout))


def _create(store, rank, size, timeout):
    _close_destroyed()
    group = _meet(store, rank, size, timeout)
    if not _GROUPS:
        # Unlike atexit also where a process of multiprocessing ends. Without a goodbye
        # others take this rank for dead.
        multiprocessing.util.Finalize(None, _close_all, exitpriority=0)
    _GROUPS.append(group)
    return group


def _close_destroyed():
    """Before 2.9 destroy_process_group() only forgets a group that is in Python."""
    known = dist.distributed_c10d._pg_map  # pylint: disable=protected-access
    for group in [group for group in _GROUPS if group not in known]:
        _GROUPS.remove(group)
        group.close()


def _close_all():
    while _GROUPS:
        _GROUPS.pop().close()


def register():
    """Make "dlcp" a backend of torch.distributed."""
    if hasattr(dist.Backend, "DLCP"):
        return
    more = {}
    if "devices" in inspect.signature(dist.Backend.register_backend).parameters:
        more["devices"] = ["cpu"]
    dist.Backend.register_backend("dlcp", _create, **more)
