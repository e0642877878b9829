# SPDX-License-Identifier: LGPL-2.1-or-later
"""The process group: torch.distributed's calls as operations of libdlcp."""

from __future__ import annotations

import ctypes
import functools
import threading
from datetime import timedelta
from typing import Any, Callable, Optional, Sequence

import torch
import torch.distributed as dist

from . import _lib, sparse
from ._lib import Args, DlcpError, Options, Stats, check, lib
from .monitored import MonitoredBarrier
from .tensors import (
    TYPES,
    Result,
    as_is,
    bytes_of,
    fill,
    fill_all,
    fill_from_bytes,
    flattened,
    joined,
    joined_bytes,
    only,
    reducible,
    reduction,
)
from .work import Callbacks, Handled, Retained, Stepped, Waiter, Work

# Begins an operation: of a group in C, and for a handle
_Call = Callable[[int, Any], int]
_Finish = Optional[Callable[[], None]]


def _milliseconds(timeout: timedelta) -> int:
    return max(1, min(int(timeout.total_seconds() * 1000), 2**31 - 1))


class DlcpGroup(dist.ProcessGroup):
    """A process group over DLCP.

    @store: PyTorch's, of these ranks, for monitored_barrier()
    @make_nested: makes another group of the same ranks, with a timeout, for
    operations that callbacks of this one's futures start: nobody knows where
    among the others they would come
    """

    def __init__(
        self,
        rank: int,
        size: int,
        addr: str,
        port: str | int,
        timeout: timedelta,
        store: dist.Store,
        make_nested: Callable[[timedelta], DlcpGroup],
    ) -> None:
        super().__init__(rank, size)  # type: ignore[call-arg, arg-type] # as of a backend
        self._rank, self._size = rank, size
        options = Options()
        lib.dlcp_coll_options_init(ctypes.byref(options))
        options.rank, options.world = rank, size
        options.master_addr, options.master_port = addr.encode(), str(port).encode()
        options.timeout_ms = _milliseconds(timeout)
        # as the struct has only their addresses
        self._kept = (options.master_addr, options.master_port)
        self._coll: int | None = lib.dlcp_coll_open(ctypes.byref(options))
        check(not self._coll)
        self._make_nested, self._timeout = make_nested, timeout
        self._nested: DlcpGroup | None = None
        self._group_name, self._sequence = "", 0
        self._monitored = MonitoredBarrier(store, rank, size, timeout)
        self.waiter, self.callbacks = Waiter(), Callbacks()
        self._lock = threading.Lock()
        self._retained = Retained()

    # --- what torch asks of a group

    def rank(self) -> int:
        return self._rank

    def size(self) -> int:
        return self._size

    def name(self) -> str:
        return "dlcp"

    def getBackendName(self) -> str:  # pylint: disable=invalid-name # torch's
        """In torch 2.x"""
        return "dlcp"

    def _set_group_name(self, name: str) -> None:
        """2.x would have it kept by a backend in C++, and finds groups by it in functional collectives"""
        self._group_name = name

    @property
    def group_name(self) -> str:
        """In torch 2.x"""
        return self._group_name

    def _set_sequence_number_for_group(self) -> None:
        """It begins with 0 everywhere: nothing to agree upon"""

    def _get_sequence_number_for_group(self) -> int:
        """How many operations of all ranks were begun"""
        return self._sequence

    def _get_backend(self, _device: torch.device) -> DlcpGroup:
        """Of 2.x, for batch_isend_irecv(), which asks whether messages can be sent as one"""
        return self

    supports_coalescing = supports_splitting = False

    def _start_coalescing(self) -> None:
        """For batch_isend_irecv() of 1.13: each message goes by itself, and holds up no other"""

    def _end_coalescing(self, works: Any) -> None:
        """Likewise"""

    # --- starting operations

    def in_callback(self) -> bool:
        """Is this thread the one that runs callbacks of this group's futures?"""
        return threading.current_thread() is self.callbacks

    def for_callbacks(self) -> DlcpGroup:
        """The group that operations use which callbacks start"""
        if not self._nested:
            self._nested = self._make_nested(self._timeout)
        return self._nested

    def retain(self, work: Work, result: Result) -> Work:
        """C++ may wait for @work when nobody in Python has it any more"""
        self._retained.add(work, bytes_of(result))
        return work

    def _begin(self, call: _Call, keep: object, finish: _Finish, result: Result) -> Work:
        """Begin call(group, handle); @keep lives until it is over."""
        work = Handled(self, keep, finish, result)
        with self._lock:
            check(call(self._opened(), ctypes.byref(work.handle)))
            self.retain(work, result)
            self.waiter.add(work)  # before close() waits for all that it has
        return work

    def _start(self, call: _Call, keep: object, finish: _Finish, result: Result) -> Work:
        """The same for an operation of all ranks, which begin all of them in one order."""
        if self.in_callback():
            return self.for_callbacks()._start(call, keep, finish, result)
        work = self._begin(call, keep, finish, result)
        self._sequence += 1
        return work

    def _opened(self) -> int:
        """The group in C"""
        if not self._coll:
            raise DlcpError("the process group was destroyed: make another one by init_process_group()")
        return self._coll

    def reduce_flat(self, flat: torch.Tensor, args: Args, result: Result | None = None, finish: _Finish = None) -> Work:
        """All-reduce a contiguous tensor in place, with libdlcp's arguments."""
        kind = TYPES[flat.dtype]
        return self._start(
            lambda coll, handle: lib.dlcp_coll_all_reduce(
                coll, flat.data_ptr(), flat.data_ptr(), flat.numel(), kind, args, handle
            ),
            flat,
            finish,
            [flat] if result is None else result,
        )

    def gather_flat(
        self, source: torch.Tensor, out: torch.Tensor, result: Result | None = None, finish: _Finish = None
    ) -> Work:
        """All-gather. Types that libdlcp does not know go as bytes."""
        units, kind, args = as_is(source)
        return self._start(
            lambda coll, handle: lib.dlcp_coll_all_gather(
                coll, source.data_ptr(), out.data_ptr(), source.numel() * units, kind, args, handle
            ),
            (source, out),
            finish,
            [out] if result is None else result,
        )

    def stats(self) -> dict[str, int]:
        """Counters, as struct dlcp_coll_stats has them."""
        stats = Stats()
        with self._lock:
            lib.dlcp_coll_get_stats(self._opened(), ctypes.byref(stats))
        more = self._nested.stats() if self._nested else {}
        return {name: getattr(stats, name) + more.get(name, 0) for name, *_ in Stats._fields_}

    # --- reductions

    def _all_reduce(self, flat: torch.Tensor, opts: Any, result: Result, finish: Callable[[], None]) -> Work:
        """finish() when @flat has the reduction"""
        carried, number = reducible(flat, reduction(opts))

        def take() -> None:
            fill(flat, carried)
            finish()

        return self.reduce_flat(carried, Args(reduce=number), result, take)

    def allreduce(self, tensors: Sequence[torch.Tensor], opts: Any = None) -> Work:
        tensor = only(tensors)
        if tensor.layout == torch.sparse_coo:
            return sparse.all_reduce(self, tensor, reduction(opts))
        flat = flattened(tensor)
        return self._all_reduce(flat, opts, [tensor], lambda: fill(tensor, flat))

    def allreduce_coalesced(self, tensors: Sequence[torch.Tensor], opts: Any = None) -> Work:
        # In 2.x they may be of several types. One that holds them all would round: each goes by itself
        kinds = [[t for t in tensors if t.dtype == dtype] for dtype in dict.fromkeys(t.dtype for t in tensors)]
        if len(kinds) > 1:
            return self._allreduce_kinds(kinds, opts, list(tensors))
        whole = torch.cat([flattened(t) for t in tensors])
        return self._all_reduce(whole, opts, list(tensors), lambda: fill_all(tensors, whole))

    def _allreduce_kinds(self, kinds: Sequence[Sequence[torch.Tensor]], opts: Any, result: Result) -> Work:
        """@kinds: tensors of one type each. Return: one Work, of @result"""
        if self.in_callback():
            return self.for_callbacks()._allreduce_kinds(kinds, opts, result)
        # What is refused is refused before any has begun
        for tensor in (t for kind in kinds for t in kind):
            reducible(flattened(tensor)[:0], reduction(opts))
        works = [self.allreduce_coalesced(kind, opts) for kind in kinds]

        def rest(_: object) -> None:
            for work in works[1:]:
                work.wait()

        return self.retain(Stepped(self, works[0], rest, result), [])

    def _check_root(self, opts: Any) -> None:
        if not 0 <= opts.rootRank < self._size:
            raise DlcpError(f"root {opts.rootRank} of {self._size} ranks: the first is 0")

    def reduce(self, tensors: Sequence[torch.Tensor], opts: Any) -> Work:
        tensor, root = only(tensors), opts.rootRank
        self._check_root(opts)
        flat = flattened(tensor)
        carried, number = reducible(flat, reduction(opts))

        def take() -> None:
            if self._rank == root:
                fill(flat, carried)
                fill(tensor, flat)

        return self._start(
            lambda coll, handle: lib.dlcp_coll_reduce(
                coll,
                carried.data_ptr(),
                carried.data_ptr() if self._rank == root else None,
                carried.numel(),
                TYPES[carried.dtype],
                root,
                Args(reduce=number),
                handle,
            ),
            carried,
            take,
            [tensor],
        )

    def _check_scatter(self, output: torch.Tensor, tensor: torch.Tensor) -> None:
        if output.dtype != tensor.dtype or output.numel() * self._size != tensor.numel():
            raise DlcpError("the input must be of the outputs' type, and as large as all together")

    def _reduce_scatter(
        self, source: torch.Tensor, flat: torch.Tensor, opts: Any, result: Result, finish: Callable[[], None]
    ) -> Work:
        """finish() when @flat has this rank's part of the reduction"""
        asked = reduction(opts)
        (carried, number), (part, _) = reducible(source, asked), reducible(flat, asked)

        def take() -> None:
            fill(flat, part)
            finish()

        return self._start(
            lambda coll, handle: lib.dlcp_coll_reduce_scatter(
                coll,
                carried.data_ptr(),
                part.data_ptr(),
                part.numel(),
                TYPES[part.dtype],
                Args(reduce=number),
                handle,
            ),
            (carried, part),
            take,
            result,
        )

    def reduce_scatter(
        self, output_tensors: Sequence[torch.Tensor], input_tensors: Sequence[Sequence[torch.Tensor]], opts: Any = None
    ) -> Work:
        output, inputs = only(output_tensors), only(input_tensors)
        # Of other sizes, but as large together, each rank would get pieces of several
        self._check_outputs(inputs, output)
        return self._reduce_scatter_base(output, joined(inputs), opts)

    def _reduce_scatter_base(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> Work:
        self._check_scatter(output, tensor)
        flat = flattened(output)
        return self._reduce_scatter(flattened(tensor), flat, opts, [output], lambda: fill(output, flat))

    def reduce_scatter_tensor_coalesced(
        self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], opts: Any = None
    ) -> Work:
        """In torch 2.x"""
        for output, tensor in zip(outputs, inputs):
            self._check_scatter(output, tensor)
            if output.dtype != outputs[0].dtype:
                raise DlcpError("tensors of several types: convert them to one")
        whole = torch.cat([flattened(t).view(self._size, -1) for t in inputs], 1).view(-1)
        flat = torch.empty(whole.numel() // self._size, dtype=whole.dtype)
        return self._reduce_scatter(whole, flat, opts, list(outputs), lambda: fill_all(outputs, flat))

    # --- what moves unchanged

    def broadcast(self, tensors: Sequence[torch.Tensor], opts: Any = None) -> Work:
        tensor = only(tensors)
        flat = flattened(tensor)
        root = getattr(opts, "rootRank", 0)
        units, kind, args = as_is(flat)
        return self._start(
            lambda coll, handle: lib.dlcp_coll_broadcast(
                coll, flat.data_ptr(), flat.numel() * units, kind, root, args, handle
            ),
            flat,
            lambda: fill(tensor, flat),
            [tensor],
        )

    def _check_outputs(self, outputs: Sequence[torch.Tensor], tensor: torch.Tensor) -> None:
        if len(outputs) != self._size:
            raise DlcpError(f"{len(outputs)} outputs for {self._size} ranks")
        if any(output.dtype != tensor.dtype or output.numel() != tensor.numel() for output in outputs):
            raise DlcpError("each output must be of the input's type and size")

    def allgather(
        self, output_tensors: Sequence[Sequence[torch.Tensor]], input_tensors: Sequence[torch.Tensor], opts: Any = None
    ) -> Work:
        outputs, flat = only(output_tensors), flattened(only(input_tensors))
        self._check_outputs(outputs, flat)
        parts = torch.empty(self._size * flat.numel(), dtype=flat.dtype)
        return self.gather_flat(flat, parts, [outputs], lambda: fill_all(outputs, parts))

    def _check_gather(self, output: torch.Tensor, tensor: torch.Tensor) -> None:
        if output.dtype != tensor.dtype or output.numel() != tensor.numel() * self._size:
            raise DlcpError("the output must be of the inputs' type, with room for all")

    def _allgather_base(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any = None) -> Work:
        self._check_gather(output, tensor)
        flat = flattened(output)
        return self.gather_flat(flattened(tensor), flat, [output], lambda: fill(output, flat))

    def allgather_coalesced(
        self, output_lists: Sequence[Sequence[torch.Tensor]], inputs: Sequence[torch.Tensor], opts: Any = None
    ) -> Work:
        """@output_lists: for each rank, its inputs"""
        if len(output_lists) != self._size:
            raise DlcpError(f"{len(output_lists)} lists of outputs for {self._size} ranks")
        for outputs in output_lists:
            if [(t.dtype, t.numel()) for t in outputs] != [(t.dtype, t.numel()) for t in inputs]:
                raise DlcpError("each list of outputs must be of the inputs' types and sizes")
        whole = joined_bytes(inputs)
        parts = torch.empty((self._size, whole.numel()), dtype=torch.uint8)

        def finish() -> None:
            for outputs, part in zip(output_lists, parts):
                fill_from_bytes(outputs, part)

        return self.gather_flat(whole, parts.view(-1), list(output_lists), finish)

    def allgather_into_tensor_coalesced(
        self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], opts: Any = None
    ) -> Work:
        """In torch 2.x. They go as bytes, of whatever types"""
        for output, tensor in zip(outputs, inputs):
            self._check_gather(output, tensor)
        whole = joined_bytes(inputs)
        parts = torch.empty((self._size, whole.numel()), dtype=torch.uint8)

        def finish() -> None:
            for output, part in zip(outputs, parts.split([bytes_of(t) for t in inputs], 1)):
                fill(output, part.flatten().clone().view(output.dtype))

        return self.gather_flat(whole, parts.view(-1), list(outputs), finish)

    def _gather(
        self,
        flat: torch.Tensor,
        parts: torch.Tensor | None,
        root: int,
        result: Result,
        finish: Callable[[torch.Tensor], None],
    ) -> Work:
        """@parts: of all ranks, at @root alone, where finish(parts) takes them"""
        units, kind, args = as_is(flat)
        return self._start(
            lambda coll, handle: lib.dlcp_coll_gather(
                coll, flat.data_ptr(), _address(parts), flat.numel() * units, kind, root, args, handle
            ),
            (flat, parts),
            None if parts is None else functools.partial(finish, parts),
            result,
        )

    def gather(
        self, output_tensors: Sequence[Sequence[torch.Tensor]], input_tensors: Sequence[torch.Tensor], opts: Any
    ) -> Work:
        tensor, root = only(input_tensors), opts.rootRank
        self._check_root(opts)
        flat, parts = flattened(tensor), None
        outputs: Sequence[torch.Tensor] = []
        if self._rank == root:
            outputs = only(output_tensors)
            self._check_outputs(outputs, flat)
            parts = torch.empty(self._size * flat.numel(), dtype=flat.dtype)
        return self._gather(flat, parts, root, [outputs], functools.partial(fill_all, outputs))

    def gather_single(self, output: torch.Tensor, tensor: torch.Tensor, opts: Any) -> Work:
        """From 2.14 on. @output: of all ranks, at the root; of no use elsewhere"""
        self._check_root(opts)
        whole = None
        if self._rank == opts.rootRank:
            self._check_gather(output, tensor)
            whole = flattened(output)
        return self._gather(flattened(tensor), whole, opts.rootRank, [output], functools.partial(fill, output))

    def scatter(
        self, output_tensors: Sequence[torch.Tensor], input_tensors: Sequence[Sequence[torch.Tensor]], opts: Any
    ) -> Work:
        output, root = only(output_tensors), opts.rootRank
        self._check_root(opts)
        flat, whole = flattened(output), None
        if self._rank == root:
            self._check_outputs(only(input_tensors), flat)
            whole = joined(only(input_tensors))
        units, kind, args = as_is(flat)
        return self._start(
            lambda coll, handle: lib.dlcp_coll_scatter(
                coll, _address(whole), flat.data_ptr(), flat.numel() * units, kind, root, args, handle
            ),
            (flat, whole),
            lambda: fill(output, flat),
            [output],
        )

    def _exchange(
        self,
        whole: torch.Tensor,
        counts_in: Sequence[int],
        out: torch.Tensor,
        counts_out: Sequence[int],
        result: Result,
        finish: Callable[[], None],
    ) -> Work:
        """All-to-all of so many elements for each rank; finish() when @out has come"""
        if whole.dtype != out.dtype:
            raise DlcpError("outputs must be of the inputs' type")
        units, kind, args = as_is(whole)
        sizes = ctypes.c_size_t * self._size
        sizes_in, sizes_out = (sizes(*(n * units for n in counts)) for counts in (counts_in, counts_out))
        return self._start(
            lambda coll, handle: lib.dlcp_coll_all_to_all(
                coll, whole.data_ptr(), sizes_in, out.data_ptr(), sizes_out, kind, args, handle
            ),
            (whole, out),
            finish,
            result,
        )

    def alltoall(self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], opts: Any = None) -> Work:
        for tensors in (outputs, inputs):
            if len(tensors) != self._size:
                raise DlcpError(f"{len(tensors)} tensors for {self._size} ranks")
        whole = joined(inputs)
        out = torch.empty(sum(t.numel() for t in outputs), dtype=outputs[0].dtype)
        return self._exchange(
            whole,
            [t.numel() for t in inputs],
            out,
            [t.numel() for t in outputs],
            list(outputs),
            lambda: fill_all(outputs, out),
        )

    def _split(self, tensor: torch.Tensor, sizes: Sequence[int] | None) -> list[int]:
        """Elements for each rank, @sizes of the first dimension or, without, as many for each"""
        rows = tensor.size(0) if tensor.dim() else 1
        if not sizes:
            if rows % self._size:
                raise DlcpError(f"Tensor's dim 0, {rows}, does not divide equally across {self._size} ranks")
            sizes = [rows // self._size] * self._size
        if len(sizes) != self._size:
            raise DlcpError(f"Number of tensor splits {len(sizes)} not equal to group size {self._size}")
        if sum(sizes) != rows or min(sizes) < 0:
            raise DlcpError(f"Split sizes {sizes} do not match dim 0 size {rows}")
        return [size * tensor.numel() // rows if rows else 0 for size in sizes]

    def alltoall_base(
        self,
        output: torch.Tensor,
        tensor: torch.Tensor,
        output_sizes: Sequence[int] | None,
        input_sizes: Sequence[int] | None,
        opts: Any = None,
    ) -> Work:
        flat, out = flattened(tensor), flattened(output)
        return self._exchange(
            flat,
            self._split(tensor, input_sizes),
            out,
            self._split(output, output_sizes),
            [output],
            lambda: fill(output, out),
        )

    # Other names that 2.14 has for them
    all_gather_single, reduce_scatter_single = _allgather_base, _reduce_scatter_base
    all_gather_single_coalesced = allgather_into_tensor_coalesced
    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced
    all_to_all_single, gather_into_tensor = alltoall_base, gather_single

    # --- between two ranks; in no order with the operations of all

    def send(self, tensors: Sequence[torch.Tensor], dst_rank: int, tag: int = 0) -> Work:
        flat = flattened(only(tensors))
        _check_tag(tag)
        return self._begin(
            lambda coll, handle: lib.dlcp_coll_send(coll, flat.data_ptr(), bytes_of(flat), dst_rank, tag, 0, handle),
            flat,
            None,
            list(tensors),
        )

    def _receive(self, tensors: Sequence[torch.Tensor], source: int, tag: int) -> Work:
        tensor = only(tensors)
        flat = flattened(tensor)
        _check_tag(tag)
        return self._begin(
            lambda coll, handle: lib.dlcp_coll_recv(coll, flat.data_ptr(), bytes_of(flat), source, tag, handle),
            flat,
            lambda: fill(tensor, flat),
            [tensor],
        )

    def recv(self, tensors: Sequence[torch.Tensor], src_rank: int, tag: int = 0) -> Work:
        if src_rank < 0:
            raise DlcpError(f"a receive from rank {src_rank}: recv_anysource() takes what comes from any")
        return self._receive(tensors, src_rank, tag)

    def recv_anysource(self, tensors: Sequence[torch.Tensor], tag: int = 0) -> Work:
        return self._receive(tensors, _lib.ANY, tag)

    # --- barriers and the end

    def barrier(self, opts: Any = None) -> Work:
        return self._start(lambda coll, handle: lib.dlcp_coll_barrier(coll, handle), None, None, [])

    def monitored_barrier(self, timeout: timedelta | float | None = None, wait_all_ranks: bool = False) -> None:
        """Who is late hears nothing of it; the others hear who was late. Return: nothing, when all have come."""
        self._monitored.wait(timeout, wait_all_ranks)

    def set_timeout(self, timeout: timedelta) -> None:
        """Of operations that begin from now on. dist.set_timeout(), in later 2.x, calls it."""
        with self._lock:
            check(lib.dlcp_coll_set_timeout(self._opened(), _milliseconds(timeout)))
        self._timeout = self._monitored.timeout = timeout
        if self._nested:
            self._nested.set_timeout(timeout)

    _set_default_timeout = set_timeout

    def abort(self, why: str = "aborted") -> None:
        """End the group on all ranks."""
        for group in (self, self._nested):
            if group:
                group._abort(why)

    def _abort(self, why: str) -> None:
        with self._lock:
            if self._coll:
                lib.dlcp_coll_abort(self._coll, why.encode())

    def close(self) -> None:
        """Leave the group; done at exit for groups that still exist."""
        with self._lock:
            coll, self._coll = self._coll, None
        if coll:
            self.waiter.end()
            self.callbacks.end()
            if self._nested:
                self._nested.close()
            lib.dlcp_coll_close(coll)

    def shutdown(self) -> None:
        """What destroy_process_group() calls, in later 2.x"""
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_coll", None):
            self.close()


def _address(tensor: torch.Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def _check_tag(tag: int) -> None:
    if not 0 <= tag < 1 << 32:
        raise DlcpError(f"tag {tag}: tags are 32 bits, and not negative")
