#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The package dlcp: every reduction and type, what moves between ranks and when, sparse tensors, and
barriers that name who is late.

See test_torch.py, which has the rest.
"""

import functools
import multiprocessing
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import test_torch
from test_group import fails
from test_torch import default_group, have_module, ranks, run_all

import dlcp  # pylint: disable=wrong-import-order # test_torch knows where

Op = dist.ReduceOp
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)
BITS = {"BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor}


# --- reductions


def inputs(dtype, count):
    """What each of the ranks has, the same list on all of them"""
    torch.manual_seed(count)
    if dtype == torch.bool:
        return [torch.randint(0, 2, (count,)).bool() for _ in range(dist.get_world_size())]
    if dtype.is_complex:
        return [torch.randn(count, dtype=dtype) for _ in range(dist.get_world_size())]
    # Small: halves add and multiply them exactly
    return [torch.randint(0, 5, (count,)).to(dtype) for _ in range(dist.get_world_size())]


def reduced(name, parts):
    """By PyTorch itself"""
    stacked = torch.stack(parts)
    if name in BITS:
        return functools.reduce(BITS[name], parts)
    if name == "MAX":
        return stacked.max(0)[0]
    if name == "MIN":
        return stacked.min(0)[0]
    if name == "PRODUCT":
        return functools.reduce(torch.mul, parts)
    total = stacked.sum(0).to(stacked.dtype)
    if name == "SUM":
        return total
    exact = stacked.is_floating_point() or stacked.is_complex()
    return torch.div(total, len(parts), rounding_mode=None if exact else "trunc").to(stacked.dtype)


def cases():
    for name in ("SUM", "PRODUCT", "MIN", "MAX", "AVG"):
        for dtype in FLOATS + INTS:
            yield name, dtype
    for name in BITS:
        for dtype in INTS:
            yield name, dtype
    for name in ("SUM", "PRODUCT", "MIN", "MAX", *BITS):
        yield name, torch.bool


def same(x, wanted):
    return x.dtype == wanted.dtype and torch.allclose(x, wanted, rtol=0.01 if x.is_floating_point() else 0, atol=0)


def reductions(rank):
    """All that there are, of all types, by every operation that reduces"""
    world, group = dist.get_world_size(), default_group()
    for name, dtype in cases():
        op = getattr(Op, name)
        for count in (2 * world, 9000 * world):
            parts = inputs(dtype, count)
            wanted, about = reduced(name, parts), (name, dtype, count)
            x = parts[rank].clone()
            dist.all_reduce(x, op=op)
            assert same(x, wanted), about
            x = parts[rank].clone()
            dist.reduce(x, dst=1, op=op)
            assert same(x, wanted if rank == 1 else parts[rank]), about
            out = torch.zeros(count // world, dtype=dtype)
            dist.reduce_scatter(out, list(parts[rank].chunk(world)), op=op)
            assert same(out, wanted.chunk(world)[rank]), about
            both = [parts[rank].clone(), parts[rank][:3].clone()]
            dist.all_reduce_coalesced(both, op=op)
            assert same(both[0], wanted) and same(both[1], wanted[:3]), about
    for name in ("SUM", "AVG"):
        parts = inputs(torch.complex64, 50)
        options = dist.AllreduceOptions()
        options.reduceOp = getattr(Op, name)
        x = parts[rank].clone()
        group.allreduce([x], options).wait()
        assert torch.allclose(x, reduced(name, parts))
        x = parts[rank].clone().conj()
        group.allreduce([x], options).wait()
        assert torch.allclose(x, reduced(name, parts).conj())


def refused(rank):
    """Reductions that a type does not have are errors of the caller alone"""
    for name, dtype in (
        *((name, dtype) for name in BITS for dtype in FLOATS),
        ("AVG", torch.bool),
    ):
        x = torch.ones(4).to(dtype)
        for call in (
            lambda: dist.all_reduce(x, op=getattr(Op, name)),
            lambda: dist.reduce(x, 0, op=getattr(Op, name)),
            lambda: dist.reduce_scatter(x[:2], [x[:2], x[:2]], op=getattr(Op, name)),
        ):
            assert fails(call, f"Cannot use ReduceOp.{name} with {dtype}"), (name, dtype)
    x = torch.full((3,), float(rank))
    dist.all_reduce(x, op=Op.MIN)
    assert (x == 0).all()


def exactly(rank):
    """Long integers and doubles are added as such"""
    world = dist.get_world_size()
    total = world * (world - 1) // 2
    big = 1 << 60  # no floating-point number counts on from there
    for dtype, base in ((torch.int64, big), (torch.float64, 0.125)):
        x = torch.full((3,), rank, dtype=dtype) + (base if rank == 0 else 0)
        dist.all_reduce(x)
        assert (x == base + total).all(), x
    x = torch.tensor([-big, -4 if rank else -3])
    dist.all_reduce(x, op=Op.AVG)
    assert x.tolist() == [-big, -3], x  # -11 / 3, rounded towards zero
    before = default_group().stats()["sent"]
    dist.all_reduce(torch.ones(300000, dtype=torch.int64))
    sent = default_group().stats()["sent"] - before
    # Two thirds of it in each of two rounds; and not all of it to all others
    assert 3200000 <= sent < 3300000, sent


# --- what moves, and when


def moved(call):
    """Bytes that this rank sends and receives"""
    group = default_group()
    dist.barrier()
    before = group.stats()
    call()
    after = group.stats()
    dist.barrier()
    return after["sent"] - before["sent"], after["received"] - before["received"]


def no_more_than_needed(rank):
    """Between the root and the others; and nothing to a rank that needs nothing"""
    world, small = dist.get_world_size(), 20000
    part = torch.full((100000,), float(rank))
    size = 4 * part.numel()
    got = [torch.zeros_like(part) for _ in range(world)] if rank == 1 else None
    sent, received = moved(lambda: dist.gather(part, got, dst=1))
    others = (world - 1) * size
    wanted = (0, others) if rank == 1 else (size, 0)
    assert 0 <= sent - wanted[0] < small and 0 <= received - wanted[1] < small, (rank, sent, received)
    assert rank != 1 or all((x == r).all() for r, x in enumerate(got))
    out, whole = torch.zeros_like(part), [part + r for r in range(world)] if rank == 1 else None
    sent, received = moved(lambda: dist.scatter(out, whole, src=1))
    wanted = (others, 0) if rank == 1 else (0, size)
    assert 0 <= sent - wanted[0] < small and 0 <= received - wanted[1] < small, (rank, sent, received)
    assert (out == 1 + rank).all()
    sent, received = moved(lambda: dist.reduce(part, dst=1))
    # Others get what they reduce, and send that and the rest of theirs
    assert rank == 1 or (sent < size + small and received < size), (rank, sent, received)


CALLED = multiprocessing.get_context("fork").Barrier(3)


def asynchronous(rank):
    """The call returns before the others have made theirs"""
    world = dist.get_world_size()
    for last in range(world):
        for call in (
            lambda: dist.scatter(x, [x + r for r in range(world)] if rank == 0 else None, src=0, async_op=True),
            lambda: dist.gather(x, [x.clone() for _ in range(world)] if rank == 0 else None, dst=0, async_op=True),
            lambda: dist.reduce(x, dst=0, async_op=True),
            lambda: dist.all_to_all_single(torch.zeros(world), torch.ones(world), async_op=True),
            lambda: dist.all_reduce(torch.eye(3).to_sparse(), async_op=True),
        ):
            x = torch.zeros(5)
            if rank == last:
                CALLED.wait(60)
            work = call()
            if rank != last:
                CALLED.wait(60)
            work.wait()


def in_one_tensor(rank):
    """gather_single(), which 2.14 has: parts of all ranks in one tensor, at the root"""
    world = dist.get_world_size()
    for dtype in (torch.float32, torch.int64, torch.complex64):
        for shape in ((world, 6), (world * 2, 3)):
            out = torch.zeros(*reversed(shape), dtype=dtype).t() if rank == 1 else None
            part = torch.full((shape[0] // world, shape[1]), rank).to(dtype)
            dist.gather_single(part, out, dst=1)
            assert rank != 1 or torch.equal(out, torch.arange(world).to(dtype).repeat_interleave(6).view(shape)), out
    if rank == 1:
        assert fails(lambda: dist.gather_single(torch.zeros(3), torch.zeros(2), dst=1), "room for all")
    dist.barrier()


def all_to_all(rank):
    """Parts of equal and of different sizes, also of none; in one tensor, and in lists"""
    world = dist.get_world_size()
    for dtype in (torch.float32, torch.int64, torch.bool, torch.int16, torch.complex64):
        whole = torch.arange(world * 6).view(world * 2, 3).to(dtype) + torch.tensor(rank).to(dtype)
        out = torch.zeros(3, world * 2).to(dtype).t()
        dist.all_to_all_single(out, whole)
        wanted = [torch.arange(6 * rank, 6 * rank + 6).to(dtype) + torch.tensor(r).to(dtype) for r in range(world)]
        assert torch.equal(out, torch.cat(wanted).view(-1, 3)), (dtype, out)
    # Rank r has r * s rows for rank s
    for count in (1, 5000):
        ins, outs = ([rank * r * count for r in range(world)] for _ in range(2))
        whole = torch.cat([torch.full((n, 2), float(10 * rank + r)) for r, n in enumerate(ins)])
        out = torch.zeros(sum(outs), 2)
        dist.all_to_all_single(out, whole, outs, ins)
        assert [p.unique().tolist() for p in out.split(outs)] == [[10.0 * r + rank] if n else [] for r, n in enumerate(outs)]
        parts = [torch.zeros(2, n).t() for n in outs]
        dist.all_to_all(parts, list(whole.split(ins)))
        assert torch.equal(torch.cat(parts), out)
    x, y = torch.ones(2 * world), torch.ones(2 * world + 1)
    for call, text in (
        (lambda: dist.all_to_all_single(y, y), "does not divide equally"),
        (lambda: dist.all_to_all_single(x, x, None, [2 * world]), "not equal to group size"),
        (lambda: dist.all_to_all_single(x, x, [2] * world, [1] * world), "do not match"),
        (lambda: dist.all_to_all([x], [x]), f"1 tensors for {world} ranks"),
    ):
        assert fails(call, text), text


def coalesced(rank):
    """all_gather_coalesced(): several tensors of each rank, odd ones and empty ones, too"""
    world = dist.get_world_size()

    def tensors(value):
        return [torch.full((4, 6), value).t(), torch.full((3,), value), torch.zeros(0), torch.full((1, 2), value)[:, 1:]]

    for dtype in (torch.float32, torch.int64, torch.bool, torch.complex64):
        outputs = [[t.to(dtype) for t in tensors(0.0)] for _ in range(world)]
        dist.all_gather_coalesced(outputs, [t.to(dtype) for t in tensors(float(rank))])
        for r, found in enumerate(outputs):
            assert all(torch.equal(x, y.to(dtype)) for x, y in zip(found, tensors(float(r)))), (dtype, r, found)
    assert fails(lambda: dist.all_gather_coalesced(outputs[1:], outputs[0]), "lists of outputs")
    wrong = [[torch.zeros(2)] for _ in range(world)]
    assert fails(lambda: dist.all_gather_coalesced(wrong, [torch.zeros(3)]), "types and sizes")


# --- sparse tensors


def sparse(rank):
    """What ranks have in common is added, whatever each has, and be it nothing"""
    world = dist.get_world_size()
    for dtype in (torch.float32, torch.float64, torch.int64):
        for dense in ((), (2,), (2, 3)):
            for dims in (1, 3):
                shape = [5] * dims + list(dense)
                torch.manual_seed(1)
                parts = []
                for r in range(world):
                    # Rank 0 has nothing; some have an index twice
                    where = torch.randint(0, 5, (dims, 4 * r))
                    values = torch.randint(1, 9, (4 * r, *dense)).to(dtype)
                    parts.append(torch.sparse_coo_tensor(where, values, shape))
                x = parts[rank]
                wanted = sum(part.to_dense() for part in parts)
                dist.all_reduce(x)
                assert x.is_sparse and torch.equal(x.to_dense(), wanted), (dtype, shape)
    x = torch.eye(3).to_sparse()
    future = dist.all_reduce(torch.ones(3), async_op=True).get_future()
    after = future.then(lambda _: dist.all_reduce(x))
    y = torch.eye(3).to_sparse()
    work = dist.all_reduce(y, op=Op.AVG, async_op=True)
    work.wait()
    after.wait()
    assert torch.equal(y.to_dense(), torch.eye(3)) and torch.equal(x.to_dense(), world * torch.eye(3))
    assert torch.equal(work.get_future().value()[0].to_dense(), torch.eye(3)) and work.is_success()
    other = torch.eye(3 + rank % 2).to_sparse()
    assert fails(lambda: dist.all_reduce(other), "sparse tensors differ between ranks: give all one shape")
    assert fails(lambda: dist.all_reduce(x, op=Op.MAX), "adds and averages")


def sparse_gradients(rank):
    """Of an embedding, with DistributedDataParallel: as dense ones"""
    found = []
    for is_sparse in (True, False):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.EmbeddingBag(50, 8, mode="sum", sparse=is_sparse), torch.nn.Linear(8, 4))
        ddp, optimizer = DistributedDataParallel(model), torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(4):
            torch.manual_seed(100 * step + rank)
            optimizer.zero_grad()
            ddp(torch.randint(0, 50, (6, 3))).sum().backward()
            optimizer.step()
        found.append(torch.cat([p.detach().view(-1) for p in model.parameters()]))
    assert torch.allclose(*found), found


# --- barriers


def monitored(rank):
    """Who is late is named, all hear of it, and the group is as it was"""
    world = dist.get_world_size()
    for _ in range(3):
        dist.monitored_barrier()
        dist.monitored_barrier(timeout=timedelta(seconds=30), wait_all_ranks=True)
    for wait_all in (False, True):
        call = functools.partial(dist.monitored_barrier, timeout=timedelta(seconds=2), wait_all_ranks=wait_all)
        if rank == 0:
            names = f"Ranks {', '.join(map(str, range(2, world)))}" if wait_all else "Rank 2"
            assert fails(call, f"[Rank 0]: {names} failed to pass monitoredBarrier in 2000 ms")
        elif rank == 1:
            assert fails(call, "Rank 1 successfully reached monitoredBarrier, but received errors while waiting")
        # Who was late hears at once that it is over
        dist.barrier()
        assert rank < 2 or fails(call, "failed to pass")
        dist.barrier()
    dist.monitored_barrier(timeout=30)
    assert fails(lambda: dist.monitored_barrier(timeout=0 if rank == 0 else 30), "Rank 0 timed out in monitoredBarrier")
    if rank:
        assert fails(lambda: dist.monitored_barrier(timeout=0.5), "timed out after 500 ms")
    dist.barrier()
    if rank == 0:
        dist.monitored_barrier()
    part = dist.new_group([1, 2])
    dist.monitored_barrier(part)
    if rank == 1:
        assert fails(lambda: dist.monitored_barrier(part, 0.2), "Rank 1 failed to pass")
    x = torch.ones(3)
    dist.all_reduce(x)
    assert (x == world).all()


def counted(_rank):
    """Operations of all ranks are numbered, as those of Gloo"""
    group = default_group()
    group._set_sequence_number_for_group()  # pylint: disable=protected-access
    first = group._get_sequence_number_for_group()  # pylint: disable=protected-access
    for i in range(5):
        dist.all_reduce(torch.ones(3))
        assert group._get_sequence_number_for_group() == first + i + 1  # pylint: disable=protected-access


def old_library():
    """Is named, with what to do"""
    lib = dlcp._lib  # pylint: disable=protected-access

    class Old:
        """Has nothing"""

    library, lib.ctypes.CDLL = lib.ctypes.CDLL, lambda name: Old()
    try:
        return fails(lib._load, "libdlcp is too old")  # pylint: disable=protected-access
    finally:
        lib.ctypes.CDLL = library


TESTS = {
    "torch_ops_reductions": (3, reductions),
    "torch_ops_refused": (2, refused),
    "torch_ops_exactly": (3, exactly),
    "torch_ops_no_more_than_needed": (3, no_more_than_needed),
    "torch_ops_asynchronous": (3, asynchronous),
    "torch_ops_all_to_all": (3, all_to_all),
    **({"torch_ops_in_one_tensor": (3, in_one_tensor)} if hasattr(dist, "gather_single") else {}),
    "torch_ops_coalesced": (3, coalesced),
    "torch_ops_sparse": (3, sparse),
    "torch_ops_sparse_gradients": (2, sparse_gradients),
    "torch_ops_monitored": (4, monitored),
    "torch_ops_counted": (2, counted),
}


def main():
    bad = run_all([("torch_ops_old_library", old_library)])
    if not have_module():
        return bad
    test_torch.PORT[0] = 29900
    return run_all([(name, lambda w=w, t=t: ranks(w, t) == 0) for name, (w, t) in TESTS.items()]) or bad


if __name__ == "__main__":
    sys.exit(main())
