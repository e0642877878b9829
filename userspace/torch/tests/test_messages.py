#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The package dlcp: messages from one rank to another.

See test_torch.py, which has the rest.
"""

import multiprocessing
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

import test_torch
from test_group import fails
from test_torch import default_group, have_module, ranks, run_all

import dlcp  # pylint: disable=wrong-import-order,unused-import # test_torch knows where


def exchanges(rank):
    """Of every type and of many sizes, between any two, in both directions"""
    world = dist.get_world_size()
    for dtype in (torch.float32, torch.float16, torch.int64, torch.bool, torch.int16, torch.complex64):
        for count in (0, 1, 5, 300000):
            for src in range(world):
                for dst in range(world):
                    wanted = (torch.arange(count) % 7 + src).to(dtype)
                    if rank == src != dst:
                        dist.send(wanted, dst)
                    elif rank == dst != src:
                        x = torch.zeros(count, dtype=dtype)
                        assert dist.recv(x, src) == src
                        assert torch.equal(x, wanted), (dtype, count, src, dst)
    if rank < 2:
        odd = torch.zeros(4, 6).t()[1:3]
        if rank == 0:
            dist.send(odd + torch.arange(8.0).view(2, 4), 1)
        else:
            dist.recv(odd, 0)
            assert torch.equal(odd, torch.arange(8.0).view(2, 4))


def in_order(rank):
    """Messages of one tag come in the order of their sends, to the receives in the order of theirs;
    those of another tag wait for nobody. Collectives may come between them"""
    if rank == 0:
        sends = [dist.isend(torch.full((1000,), float(i)), 1, tag=i % 2) for i in range(20)]
        dist.all_reduce(torch.ones(3))
        for send in sends:
            send.wait()
        return
    got = [torch.zeros(1000) for _ in range(20)]
    odd = [dist.irecv(got[i], 0, tag=1) for i in range(1, 20, 2)]
    for work in odd:
        work.wait()
    dist.all_reduce(torch.ones(3))
    even = [dist.irecv(got[i], 0, tag=0) for i in range(0, 20, 2)]
    for work in reversed(even):
        work.wait()
    assert [x.unique().tolist() for x in got] == [[float(i)] for i in range(20)]


def from_any(rank):
    """A receive from any rank says which it was, by the number that it has everywhere"""
    world = dist.get_world_size()
    if rank == 0:
        seen = []
        for _ in range(2 * (world - 1)):
            x = torch.zeros(5)
            src = dist.recv(x, tag=3)
            assert (x == src).all()
            seen.append(src)
        assert sorted(seen) == sorted(2 * list(range(1, world))), seen
    else:
        for _ in range(2):
            dist.send(torch.full((5,), float(rank)), 0, tag=3)
    part = dist.new_group([1, 2])
    x = torch.full((2,), float(rank))
    if rank == 1:
        dist.send(x, 2, group=part)
    elif rank == 2:
        assert dist.recv(x, group=part) == 1 and (x == 1).all()


def many_at_once(rank):
    """batch_isend_irecv(): each rank sends to each, whatever the order on the others"""
    world = dist.get_world_size()
    got = {r: torch.zeros(50000) for r in range(world) if r != rank}
    calls = [dist.P2POp(dist.isend, torch.full((50000,), float(rank)), r) for r in got]
    calls += [dist.P2POp(dist.irecv, x, r) for r, x in got.items()]
    if rank % 2:
        calls.reverse()
    for work in dist.batch_isend_irecv(calls):
        work.wait()
    assert all((x == r).all() for r, x in got.items())


def in_callbacks(rank):
    """What a callback sends another rank receives outside of any"""
    if rank == 0:
        future = dist.all_reduce(torch.ones(3), async_op=True).get_future()
        future.then(lambda f: dist.send(f.value()[0], 1)).wait()
    else:
        dist.all_reduce(torch.ones(3))
        x = torch.zeros(3)
        dist.recv(x, 0)
        assert (x == 2).all()


WAITED = multiprocessing.get_context("fork").Event()


def waits(rank):
    """wait() with a timeout says that it is over, and the operation goes on"""
    x = torch.zeros(3)
    if rank == 0:
        work = dist.irecv(x, 1)
        assert fails(lambda: work.wait(timedelta(milliseconds=200)), "Timed out waiting 200ms")
        assert not work.is_completed()
        WAITED.set()
        work.wait()
        assert (x == 5).all() and work.is_completed() and work.get_future().value()[0] is x
    else:
        assert WAITED.wait(60)
        dist.send(x + 5, 0)


def never_sent(rank):
    """The group's timeout is over: all hear who waited for whom"""
    dist.barrier()
    assert fails(lambda: dist.recv(torch.zeros(3), 1 - rank, tag=7 + rank), "Timed out after 5000 ms: a receive from rank")


def set_timeout(timeout, group=None):
    """As the PyTorch at hand has it"""
    call = getattr(dist, "set_timeout", None) or getattr(dist.distributed_c10d, "_set_pg_timeout", None)
    if call:
        call(timeout, group)
    else:
        (group or default_group()).set_timeout(timeout)


def never_sent_later(rank):
    """Of each group alone, also for monitored_barrier() and for what callbacks start"""
    parts = [dist.new_group([0, 1], timeout=timedelta(seconds=60)) for _ in range(2)]
    for part, ms in zip(parts, (700, 800)):
        set_timeout(timedelta(milliseconds=ms), part)
    if rank:
        assert fails(lambda: dist.monitored_barrier(parts[0]), "timed out after 700 ms")
    dist.barrier()
    future = dist.all_reduce(torch.ones(3), group=parts[0], async_op=True).get_future()
    future.then(lambda _: dist.barrier(group=parts[0])).wait()
    if rank:
        late = future.then(lambda _: dist.barrier(group=parts[0]))
        assert fails(late.wait, "Timed out after 700 ms: operation")
    assert fails(lambda: dist.recv(torch.zeros(3), 1 - rank, group=parts[1]), "Timed out after 800 ms: a receive from rank")
    dist.barrier()
    set_timeout(timedelta(seconds=1))
    assert fails(lambda: dist.recv(torch.zeros(3), 1 - rank), "Timed out after 1000 ms: a receive from rank")


def refused(rank):
    """What is wrong concerns the caller alone"""
    x = torch.ones(3)
    for call, text in (
        (lambda: dist.send(x, 1 - rank, tag=-1), "tag -1"),
        (lambda: dist.send(x, 1 - rank, tag=1 << 32), "32 bits"),
        (lambda: default_group().send([x], rank), f"no other rank {rank}"),
        (lambda: default_group().send([x], 2), "no other rank 2"),
        (lambda: default_group().recv([x], -1), "rank -1"),
        (lambda: dist.send(x.to_sparse(), 1 - rank), "dense"),
    ):
        assert fails(call, text), text
    dist.all_reduce(x)
    assert (x == 2).all()


def unlike(rank):
    """Another length than the sender's ends the group, and says so"""
    x = torch.ones(3 + rank)
    call = (lambda: dist.send(x, 1)) if rank == 0 else (lambda: dist.recv(x, 0))
    assert fails(call, "sends 12 bytes with tag 0, and rank 1 expects 16")


TESTS = {
    "torch_messages_exchanges": (3, exchanges),
    "torch_messages_in_order": (2, in_order),
    "torch_messages_from_any": (4, from_any),
    "torch_messages_many_at_once": (4, many_at_once),
    "torch_messages_in_callbacks": (2, in_callbacks),
    "torch_messages_waits": (2, waits),
    "torch_messages_refused": (2, refused),
    "torch_messages_never_sent_later": (2, never_sent_later),
    "torch_messages_unlike": (2, unlike),
}


def main():
    if not have_module():
        return False
    test_torch.PORT[0] = 29800
    live = [(name, lambda w=world, t=test: ranks(w, t) == 0) for name, (world, test) in TESTS.items()]
    live.append(("torch_messages_never_sent", lambda: ranks(2, never_sent, timeout=5) == 0))
    return run_all(live)


if __name__ == "__main__":
    sys.exit(main())
