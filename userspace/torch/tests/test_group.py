#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The package dlcp: the backend's operations and their callbacks, and the hook with several buckets.

See test_torch.py, which has the rest.
"""

import multiprocessing
import os
import signal
import socket
import sys
import time
import types

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

import test_torch
from test_torch import (
    all_have_the_same,
    dear,
    default_group,
    have_module,
    lossy_link,
    missing,
    model_and_data,
    ranks,
    refused,
    run_all,
    sgd,
)

import dlcp  # pylint: disable=wrong-import-order # test_torch knows where

try:
    from torch.distributed import _functional_collectives as functional
except ImportError:  # PyTorch 1.13
    functional = None

# DistributedDataParallel's first bucket has 1 MiB otherwise, of PyTorch 1.13
dist._DEFAULT_FIRST_BUCKET_BYTES = 4096  # pylint: disable=protected-access


def with_hook(model, state, hook=dlcp.ddp_hook):
    """Of one bucket in the first step, as always, and then of several: three, for perceptron()"""
    ddp = DistributedDataParallel(model, bucket_cap_mb=0.004)
    ddp.register_comm_hook(state, hook)
    return ddp


def rule(x):
    """Which of four is the largest: can be learned"""
    return x[:, :4].argmax(1)


# --- the operations


def odd_tensors(rank):
    """What is not contiguous, and leaves that want gradients"""
    world = dist.get_world_size()
    total = world * (world - 1) / 2

    def tensors():
        whole = torch.full((4, 6), float(rank))
        return whole.t(), whole[:, 1:3], torch.nn.Parameter(whole.t()), torch.nn.Parameter(whole)

    for i in range(len(tensors())):
        x = tensors()[i]
        dist.all_reduce(x)
        assert (x == total).all(), i
        x = tensors()[i]
        dist.reduce(x, dst=1)
        assert (x == (total if rank == 1 else rank)).all(), i
        x = tensors()[i]
        dist.broadcast(x, src=1)
        assert (x == 1).all(), i
        outputs = [tensors()[i] for _ in range(world)]
        dist.all_gather(outputs, tensors()[i])
        assert all((outputs[r] == r).all() for r in range(world)), i
        x = tensors()[i]
        dist.scatter(x, [torch.full(x.shape, 5.0 + r) for r in range(world)] if rank == 0 else None, src=0)
        assert (x == 5 + rank).all(), i
        x = tensors()[i]
        dist.reduce_scatter(x, [torch.full(x.shape, float(r)) for r in range(world)])
        assert (x == rank * world).all(), i
        x = tensors()[i]
        dist.all_reduce_coalesced([x, torch.ones(3)])
        assert (x == total).all(), i


def into_tensors(rank):
    """The operations that have all ranks' parts in one tensor"""
    world = dist.get_world_size()
    for dtype in (torch.float32, torch.int8, torch.float64):
        for out in (torch.zeros(world, 700, dtype=dtype), torch.zeros(700, world, dtype=dtype).t()):
            dist.all_gather_into_tensor(out, torch.full((700,), rank, dtype=dtype))
            assert all((out[r] == r).all() for r in range(world))
        parts = torch.arange(world, dtype=dtype).repeat_interleave(700)
        for out in (torch.zeros(700, dtype=dtype), torch.zeros(7, 100, dtype=dtype).t()):
            dist.reduce_scatter_tensor(out, parts)
            assert (out == rank * world).all()
    x, y = torch.full((20000,), float(rank)), torch.full((3, 2), float(rank)).t()
    dist.all_reduce_coalesced([x, y], op=dist.ReduceOp.MAX)
    assert (x == world - 1).all() and (y == world - 1).all()
    group = default_group()
    # float32 would round the integers
    x, y, z = torch.full((3,), (1 << 24) + 1), torch.full((5,), 0.5), torch.full((2, 2), (1 << 40) + rank)
    work = group.allreduce_coalesced([x, y, z])
    work.wait()
    assert work.result()[1] is y and (y == world / 2).all()
    assert (x == world * ((1 << 24) + 1)).all() and (z == (world << 40) + world * (world - 1) // 2).all()
    outs = torch.zeros(3 * world, dtype=torch.int8), torch.zeros(2, world).t(), torch.zeros(world, dtype=torch.int64)
    parts = [torch.full((out.numel() // world,), rank, dtype=out.dtype) for out in outs]
    group.allgather_into_tensor_coalesced(outs, parts).wait()
    for out in outs:
        assert all((part == r).all() for r, part in enumerate(out.reshape(-1).chunk(world))), out
    for dtype in (torch.float32, torch.float64):
        outs = torch.zeros(3, dtype=dtype), torch.zeros(2, 2, dtype=dtype).t()
        parts = [torch.arange(world, dtype=dtype).repeat_interleave(out.numel()) for out in outs]
        group.reduce_scatter_tensor_coalesced(outs, parts).wait()
        assert all((out == rank * world).all() for out in outs), outs
    for call in (
        lambda: dist.all_gather_into_tensor(torch.zeros(world, dtype=torch.float16), torch.zeros(1)),
        lambda: dist.reduce_scatter_tensor(torch.zeros(1, dtype=torch.float64), torch.zeros(world)),
        lambda: dist.all_gather_into_tensor(torch.zeros(world + 1), torch.zeros(1)),
        lambda: group.allgather_into_tensor_coalesced([torch.zeros(world + 1)], [torch.zeros(1)]),
        lambda: group.reduce_scatter_tensor_coalesced(
            [torch.zeros(1), torch.zeros(1).half()], [torch.zeros(world), torch.zeros(world).half()]
        ),
    ):
        try:
            call()
        except dlcp.DlcpError as error:
            assert "type" in str(error)
        else:
            assert False


def functionals(rank):
    """Collectives of 2.x that return tensors, which wait when they are used; also of a part of the ranks"""
    world = dist.get_world_size()
    total = world * (world - 1) // 2
    x, everybody = torch.full((2,), float(rank)), dist.group.WORLD
    assert (functional.all_reduce(x, "sum", everybody) + 0 == total).all()
    assert (functional.all_reduce(x, "avg", list(range(world))) + 0 == total / world).all()
    assert (functional.all_gather_tensor(x, 0, everybody) + 0).tolist() == [r for r in range(world) for _ in x]
    parts = torch.arange(world).float().repeat_interleave(2)
    assert (functional.reduce_scatter_tensor(parts, "sum", 0, everybody) + 0 == rank * world).all()
    assert (functional.broadcast(x, 1, everybody) + 0 == 1).all()
    both = functional.all_reduce_coalesced([x, x.double()], "max", everybody)
    assert all((one + 0 == world - 1).all() for one in both)
    gathered = functional.all_gather_into_tensor_coalesced([x, x.long()], everybody)
    assert all((one + 0).tolist() == [r for r in range(world) for _ in x] for one in gathered)
    scattered = functional.reduce_scatter_tensor_coalesced([parts, parts], "sum", [0, 0], everybody)
    assert all((one + 0 == rank * world).all() for one in scattered)
    pair = dist.new_group([0, 1])
    if rank < 2:
        assert (functional.all_reduce(x, "sum", pair) + 0 == 1).all()
    many = [functional.all_reduce(x + i, "sum", everybody) for i in range(50)]
    assert all((one + 0 == total + world * i).all() for i, one in enumerate(many))


def many_results(rank):
    """Those that nobody has in Python are not kept, but who waits for them in C++ still can"""
    group, world = default_group(), dist.get_world_size()
    kept = group._retained  # pylint: disable=protected-access
    kept.BYTES = 1 << 20
    for _ in range(100):
        dist.all_reduce(torch.ones(50000))
    assert kept.bytes <= 2 << 20, kept.bytes
    held = [dist.all_reduce(torch.ones(50000), async_op=True) for _ in range(30)]
    for work in held:
        work.wait()
    dist.all_reduce(torch.ones(50000))
    assert all((work.result()[0] == world).all() for work in held)
    if functional:
        many = [functional.all_reduce(torch.full((50000,), float(i)), "sum", dist.group.WORLD) for i in range(80)]
        assert all((one + 0 == i * world).all() for i, one in enumerate(many))
    # A few turns until all are looked at again
    del held, work
    for _ in range(100):
        dist.all_reduce(torch.full((50000,), float(rank)))
    assert kept.bytes <= 2 << 20, kept.bytes


def destroyed(_rank):
    """A group that was destroyed is left before the next one is made"""
    groups = dlcp.backend._GROUPS  # pylint: disable=protected-access
    for _ in range(5):
        pair = dist.new_group([0, 1])
        dist.all_reduce(torch.ones(3), group=pair)
        dist.destroy_process_group(pair)
        assert len(groups) == 2, groups
    dist.all_reduce(torch.ones(3))


def killed_in_training(wrap):
    """Who trains hears who died"""

    def test(rank):
        model, data = model_and_data(rank)
        x, y = data[0]
        ddp, optimizer = wrap(model)
        # The others may be in it still when rank 1 is through
        dist.all_reduce(torch.ones(9))
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)

        def train():
            for _ in range(100000):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(ddp(x), y).backward()
                optimizer.step()

        assert fails(train, "rank 1 died")

    return lambda: ranks(2, test) == 1


STEPPED = multiprocessing.get_context("fork").Event()


def never_averaged(rank):
    """Whoever asks for parameters, and how often, does not get them without the last average"""
    model, data = model_and_data(rank)
    x, y = data[0]
    optimizer = dlcp.DeAR(model, sgd(model), fusion=0.2)

    def step():
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    step()
    optimizer.synchronize()
    if rank == 1:
        assert STEPPED.wait(60)
        os.kill(os.getpid(), signal.SIGKILL)
    step()
    STEPPED.set()
    for _ in range(2 + len(optimizer.buffers)):
        assert fails(optimizer.synchronize, "rank 1 died") and fails(model.state_dict, "rank 1 died")


def named_rank_0():
    """By an address of this host; DLCP_SOCKET_IFNAME chooses the interface"""
    local = dlcp.backend._local_address  # pylint: disable=protected-access
    for name in ("localhost", "127.0.1.1", socket.gethostname()):
        with socket.socket(socket.AF_INET6 if ":" in local(name) else socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.bind((local(name), 0))
    os.environ["DLCP_SOCKET_IFNAME"] = "lo"
    by_name = local("192.0.2.1")
    os.environ["DLCP_SOCKET_IFNAME"] = "nosuch"
    refused_name = fails(lambda: local("127.0.0.1"), "DLCP_SOCKET_IFNAME=nosuch")
    os.environ["DLCP_ADDR"] = "192.0.2.9"
    given = local("127.0.0.1")
    for name in ("DLCP_SOCKET_IFNAME", "DLCP_ADDR"):
        del os.environ[name]
    return by_name in ("127.0.0.1", "::1") and refused_name and given == "192.0.2.9"


def aborted(rank):
    """All ranks hear why"""
    try:
        # The others may be in it still when rank 1 is through
        dist.all_reduce(torch.ones(3))
        if rank == 1:
            default_group().abort("enough of this")
        while True:
            dist.all_reduce(torch.ones(100000))
    except dlcp.DlcpError as error:
        assert "enough of this" in str(error), error


def fails(call, text):
    try:
        call()
    except Exception as error:  # pylint: disable=broad-except
        return text in str(error)
    return False


def unlike(first, others, call):
    """Tensors of the same bytes, and of another type at rank 0: all hear of it"""

    def test(rank):
        x = torch.ones(800 // first.itemsize if rank == 0 else 800 // others.itemsize)
        x = x.to(first.dtype if rank == 0 else others.dtype)

        def until_told():
            for _ in range(1000):  # it may be over before the other rank finds out
                call(x)

        assert fails(until_told, "Bad message")

    return test


class Type(types.SimpleNamespace):
    """A type, and its bytes: in PyTorch 1.13 it does not say"""

    def __init__(self, dtype):
        super().__init__(dtype=dtype, itemsize=torch.empty(0, dtype=dtype).element_size())


def spread(x):
    dist.broadcast(x, src=0)


def collect(x):
    dist.all_gather([torch.empty_like(x) for _ in range(dist.get_world_size())], x)


def bad_calls(_rank):
    """Refused, and nobody has to wait"""
    x, out = torch.ones(6), [torch.zeros(6), torch.zeros(6)]
    assert fails(lambda: default_group().reduce([x], types.SimpleNamespace(rootRank=2)), "root 2 of 2 ranks")
    assert fails(lambda: default_group().gather([out], [x], types.SimpleNamespace(rootRank=-1)), "root -1 of 2 ranks")
    assert fails(lambda: default_group().broadcast([x], types.SimpleNamespace(rootRank=2)), "root 2 of 2 ranks")
    assert fails(lambda: dist.all_gather([torch.zeros(5), torch.zeros(7)], x), "type and size")
    assert fails(lambda: default_group().allgather([[out[0], out[1].int()]], [x]), "type and size")
    dist.all_gather(out, x)
    assert all((one == 1).all() for one in out)


def closed(_rank):
    """Whatever is asked of it"""
    group = default_group()
    dist.all_reduce(torch.ones(3))
    group.close()
    assert fails(group.stats, "was destroyed")
    assert fails(lambda: dist.all_reduce(torch.ones(3)), "was destroyed")
    group.abort()
    group.close()


# --- callbacks


def callbacks(rank):
    """They wait for operations that they start, which come in the same order everywhere, though on
    some ranks what they are attached to is long done"""
    world = dist.get_world_size()
    total = world * (world - 1) // 2

    def again(i, future):
        x = future.value()[0] + i
        dist.all_reduce(x)
        return x

    for late in range(world):
        afters, others = [], []
        for i in range(5):
            future = dist.all_reduce(torch.full((3000,), float(rank)), async_op=True).get_future()
            if rank == late:
                time.sleep(0.05)
            for j in (0, 10):
                # PowerSGD's way: one waits for an operation, and the next for another
                after = future.then(lambda f, i=i + j: again(i, f))
                afters.append((i + j, after.then(lambda f: again(0, types.SimpleNamespace(value=lambda: [f.wait()])))))
            others.append(dist.all_reduce(torch.full((3000,), float(rank)), async_op=True))
        for i, after in afters:
            assert (after.wait() == world * world * (total + i)).all(), i
        for other in others:
            other.wait()
    future = dist.all_reduce(torch.ones(3), async_op=True).get_future()
    assert fails(future.then(lambda _: 1 / 0).then(lambda f: f.wait()).wait, "division")


def callbacks_wait(rank):
    """For what others complete, whoever started it; who waits for himself hears of it"""
    first, second = (dist.all_reduce(torch.ones(30000), async_op=True) for _ in range(2))
    waited = first.get_future().then(lambda _: (second.wait(), second.get_future().wait()[0][0].item()))
    assert waited.wait() == (True, 2)
    later = []
    waits = first.get_future().then(lambda _: time.sleep(0.1) or later[0].wait())
    later.append(second.get_future().then(lambda _: None))
    assert fails(waits.wait, "only come after")
    # PyTorch itself attaches these, so that they run where operations are completed
    dist.barrier()
    if rank == 1:
        time.sleep(0.5)
    first = dist.all_reduce(torch.ones(3), async_op=True)
    works = []
    both = torch.futures.collect_all([first.get_future()]).then(lambda _: time.sleep(0.1) or works[0].wait())
    if rank == 1:
        time.sleep(0.5)
    works.append(dist.all_reduce(torch.ones(3), async_op=True))
    assert rank == 1 or fails(both.wait, "only come after")
    dist.barrier()


def power_sgd(rank):
    """A hook of PyTorch's whose callbacks wait for more operations, with several buckets"""
    model, data = model_and_data(rank)
    state = powerSGD_hook.PowerSGDState(
        None, matrix_approximation_rank=4, start_powerSGD_iter=2, min_compression_rate=0.5
    )
    ddp = with_hook(model, state, powerSGD_hook.powerSGD_hook)
    optimizer, losses = sgd(model), []
    for x, _ in data:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(ddp(x), rule(x))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert len(state.error_dict) == 3 and sum(losses[-2:]) < sum(losses[:2]) - 0.1, losses
    assert all_have_the_same(optimizer)


# --- the hook


class FollowedPhase(dlcp.Phase):
    """Remembers the norms it was given"""

    def __init__(self):
        super().__init__(0.01, 0.1, threshold=0.3, hold=0)
        self.norms = []

    def next(self, norm):
        self.norms.append(norm)
        return super().next(norm)


class Ordered:
    """A group whose three buckets of a step are over in an order that the step and the rank determine"""

    # After each bucket was begun: which are over then. The first step has only one
    ONE = ([0],)
    ORDERS = ([0], [1], [2]), ([], [], [2, 1, 0]), ([0], [], [2, 1]), ([], [], [2, 0, 1]), ([], [1, 0], [2])

    def __init__(self, rank):
        self.rank, self.step = rank, 0
        self.begun, self.squares, self.bounds = [], [], []

    def reduce_flat(self, flat, args, result, finish):
        dist.all_reduce(flat, op=dist.ReduceOp.AVG)
        self.begun.append((finish, torch.futures.Future(), result))
        future, place = self.begun[-1][1], len(self.begun) - 1
        if place == 0:
            self.squares.append(0.0)
            self.bounds.append([])
        self.squares[-1] += float(torch.dot(flat, flat))
        self.bounds[-1].append(args.loss_ppm)
        order = self.ORDERS[(self.step + self.rank) % len(self.ORDERS)] if self.step else self.ONE
        for i in order[place]:
            self.begun[i][0]()
            self.begun[i][1].set_result(self.begun[i][2])
        if place + 1 == len(order):
            self.step, self.begun = self.step + 1, []
        return types.SimpleNamespace(get_future=lambda: future)


class GivenGroup(dlcp.LossBound):
    """Uses another group than the default one"""

    def __init__(self, given, *args, **options):
        super().__init__(*args, **options)
        self.given = given

    def process_group(self):
        return self.given


def norms(rank):
    """The phase gets the gradient's norm in whatever order its buckets are over, and all of a step
    have one bound, the same on all ranks"""
    phase, group = FollowedPhase(), Ordered(rank)
    model, data = model_and_data(rank)
    ddp = with_hook(model, GivenGroup(group, phase))
    for step, (x, _) in enumerate(data + data):
        model.zero_grad()
        (ddp(x).sum() * (1 + step // 2)).backward()
    assert phase.norms == [square**0.5 for square in group.squares], (phase.norms, group.squares)
    bounds = [set(step) for step in group.bounds]
    assert all(len(step) == 1 for step in bounds) and len(set.union(*bounds)) == 3, bounds
    mine = torch.tensor(phase.norms + [step.pop() for step in bounds], dtype=torch.float64)
    first = mine.clone()
    dist.broadcast(first, src=0)
    assert torch.equal(first, mine), (rank, mine, first)


def norms_by_dear(rank):
    """They are the hook's"""
    found = []
    for wrap in (
        lambda model, loss: (with_hook(model, loss), sgd(model)),
        lambda model, loss: dear(fusion=0.01, loss=loss)(model),
    ):
        phase = FollowedPhase()
        model, data = model_and_data(rank)
        called, optimizer = wrap(model, dlcp.LossBound(phase))
        for x, y in data:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(called(x), y).backward()
            optimizer.step()
        found.append(phase.norms)
    optimizer.synchronize()
    assert len(found[0]) == len(found[1]) == len(data)
    assert torch.allclose(torch.tensor(found[0]), torch.tensor(found[1]), rtol=1e-4), found


class Noting:
    """Passes on what it is asked to do, and remembers the arguments"""

    def __init__(self):
        self.args = []

    def reduce_flat(self, flat, args, *more):
        self.args.append(args)
        return default_group().reduce_flat(flat, args, *more)


def arguments(rank):
    """What a LossBound is made with reaches the library; names are those of one tensor"""
    options = {"correct": "average", "algo": "transpose", "second": 0.02, "droppable": 0.25, "critical": 0.125}
    groups = []
    for share in (False, True):
        groups.append(Noting())
        model, data = model_and_data(rank)
        ddp = with_hook(model, GivenGroup(groups[-1], 0.1, share=share, **options))
        for x, _ in data[:3]:
            ddp(x).sum().backward()
    for group in groups:
        assert len(group.args) == 1 + 3 + 3
        for args in group.args:
            lib = dlcp._lib  # pylint: disable=protected-access
            assert (args.reduce, args.algo, args.correct) == (lib.AVG, 2, 1)  # transpose, average
            assert (args.loss2_ppm, args.droppable, args.critical) == (20000, 0.25, 0.125)
        # The last layers come first, and are the least urgent
        prios = [args.prio for args in group.args[4:]]
        assert prios == [lib.lib.dlcp_coll_prio(i, 3) for i in (2, 1, 0)] and prios[0] > prios[2] == 0, prios
        assert [args.loss_ppm for args in group.args] == [0] + [100000] * 6
        assert [args.tensor for args in group.args[1:4]] == [args.tensor for args in group.args[4:]]
    assert [[args.step for args in group.args] for group in groups] == [[0] * 7, [1] + [2] * 3 + [3] * 3]
    names = [args.tensor for group in groups for args in group.args[1:4]]
    assert len(set(names)) == 6 and all(0 < name < 1 << 63 for name in names), names
    assert [name & 0xFFFFFFFFFFFF for name in names] == [1204, 1 << 32 | 90300, 2 << 32 | 6300] * 2, names


class Given(torch.nn.Module):
    """Whose gradients are what it is called with"""

    def __init__(self):
        super().__init__()
        self.weights = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(60000)) for _ in range(3)])

    def forward(self, gradient):
        return sum((weight * gradient).sum() for weight in self.weights)

    def gradients(self):
        """What came of them; forgotten"""
        whole = torch.cat([w.grad for w in self.weights])
        for weight in self.weights:
            weight.grad = None
        return whole


class UntilExact(dlcp.LossBound):
    """A bound, until it is told otherwise"""

    exact = False

    def args(self, name, prio):
        args = super().args(name, prio)
        if self.exact:
            args.loss_ppm = 0
        return args


def pair(correct):
    """Two models of the same shape: (model, with its hook, its LossBound)"""
    models = [Given() for _ in range(2)]
    losses = [UntilExact(0.3, correct=correct) for _ in range(2)]
    return [(model, with_hook(model, loss), loss) for model, loss in zip(models, losses)]


def late_not_lost(together):
    """With feedback all gradients add up to what they would without loss, each for its own model"""

    def test(rank):
        models, sums, short = pair("feedback"), [0, 0], 0
        lossy_link(10)
        for step in range(8):
            if step == 7:
                lossy_link(0)
                assert missing()
                for _, _, loss in models:
                    loss.exact = True
            outputs = [ddp(scale * 2.0 * (rank + 1)) for (_, ddp, _), scale in zip(models, (1, 1024))]
            for output in [sum(outputs)] if together else outputs:
                output.backward()
            for i, (model, _, _) in enumerate(models):
                sums[i] = sums[i] + model.gradients()
            short += step < 7 and not (sums[0] == 3 * (step + 1)).all()
        assert short  # so the bound was used
        for total, scale in zip(sums, (1, 1024)):
            assert (total == 8 * 3 * scale).all(), (scale, total.unique())

    return test


def averages(rank):
    """Averages over what arrived are as large as without loss; without any correction they are not"""
    for correct in ("average", "nothing"):
        before = missing()
        model, ddp, _ = pair(correct)[0]
        lossy_link(10)
        found = []
        for _ in range(6):
            ddp(3.0).backward()
            found.append(model.gradients())
        lossy_link(0)
        assert missing() > before
        found = torch.stack(found)
        if correct == "average":
            assert (found == 3).all(), (rank, found.unique())
        else:
            assert set(found.unique().tolist()) == {1.5, 3}, (rank, found.unique())


def trains_with_loss(rank):
    """Packets are lost and forgiven, and yet it learns"""
    for correct in ("feedback", "average"):
        before = missing()
        model, data = model_and_data(rank)
        ddp, optimizer = with_hook(model, dlcp.LossBound(0.3, correct=correct)), sgd(model)
        lossy_link(10)
        for x, _ in data * 2:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(ddp(x), rule(x)).backward()
            optimizer.step()
        lossy_link(0)
        assert missing() > before and all_have_the_same(optimizer)
        x = data[0][0]
        assert (model(x).argmax(1) == rule(x)).float().mean() > 0.5, correct


def one_loss_for_two(rank):
    """Is refused, whether they come one after the other or at once"""
    for together in (False, True):
        loss = dlcp.LossBound(0.1)
        model, data = model_and_data(rank)
        x = data[0][0]
        one, other = with_hook(model, loss), with_hook(model_and_data(rank)[0], loss)
        if together:
            assert refused(lambda: (one(x).sum() + other(x).sum()).backward())
            return
        for _ in range(2):
            one(x).sum().backward()
        assert refused(lambda: other(x).sum().backward())


def accumulated(rank):
    """no_sync(): the hook gets the sum of several passes' gradients"""
    group = Noting()
    model, data = model_and_data(rank)
    alone = model_and_data(rank)[0]
    ddp = with_hook(model, GivenGroup(group, 0.0))
    for step in range(3):
        for net in (model, alone):
            net.zero_grad()
        for i, (x, y) in enumerate(data[step : step + 3]):
            torch.nn.functional.cross_entropy(alone(x), y).backward()
            if i < 2:
                with ddp.no_sync():
                    torch.nn.functional.cross_entropy(ddp(x), y).backward()
            else:
                torch.nn.functional.cross_entropy(ddp(x), y).backward()
        for param, wanted in zip(model.parameters(), alone.parameters()):
            dist.all_reduce(wanted.grad, op=dist.ReduceOp.AVG)
            assert torch.allclose(param.grad, wanted.grad, rtol=1e-4, atol=1e-6)
    assert len(group.args) == 1 + 3 + 3


def bad_options():
    """ValueError at once, and not a failed backward pass"""
    for options in (
        {"droppable": 2},
        {"droppable": float("nan")},
        {"critical": -1},
        {"droppable": 0.6, "critical": 0.6},
        {"algo": "ring", "correct": "average"},
        {"correct": "x"},
        {"algo": "x"},
    ):
        assert refused(lambda o=options: dlcp.LossBound(0.1, **o)), options
    dlcp.LossBound(0.1, droppable=0.9, critical=0.1, algo="ring", correct="nothing")
    dlcp.LossBound(dlcp.Phase(0.01, 0.1))
    return True


TESTS = {
    "torch_odd_tensors": (3, odd_tensors),
    "torch_into_tensors": (3, into_tensors),
    **({"torch_functionals": (3, functionals)} if functional else {}),
    "torch_many_results": (3, many_results),
    "torch_destroyed": (2, destroyed),
    "torch_aborted": (3, aborted),
    "torch_bad_calls": (2, bad_calls),
    "torch_closed": (2, closed),
    "torch_floats_or_ints_spread": (2, unlike(Type(torch.float32), Type(torch.int32), spread)),
    "torch_halves_or_bytes_spread": (2, unlike(Type(torch.float16), Type(torch.int8), spread)),
    "torch_doubles_or_longs_spread": (2, unlike(Type(torch.float64), Type(torch.int64), spread)),
    "torch_doubles_or_longs_collected": (2, unlike(Type(torch.float64), Type(torch.int64), collect)),
    "torch_callbacks": (3, callbacks),
    "torch_callbacks_wait": (2, callbacks_wait),
    "torch_power_sgd": (3, power_sgd),
    "torch_norms": (3, norms),
    "torch_norms_by_dear": (2, norms_by_dear),
    "torch_arguments": (2, arguments),
    "torch_late_not_lost": (2, late_not_lost(together=False)),
    "torch_two_models_at_once": (2, late_not_lost(together=True)),
    "torch_averages": (2, averages),
    "torch_trains_with_loss": (2, trains_with_loss),
    "torch_one_loss_for_two": (2, one_loss_for_two),
    "torch_accumulated": (2, accumulated),
}


def main():
    bad = run_all(
        [
            ("torch_bad_options", bad_options),
            ("torch_named_rank_0", named_rank_0),
        ]
    )
    if not have_module():
        return bad
    test_torch.PORT[0] = 29700
    live = [(name, lambda w=world, t=test: ranks(w, t) == 0) for name, (world, test) in TESTS.items()]
    live += [
        ("torch_killed_in_ddp", killed_in_training(lambda m: (DistributedDataParallel(m), sgd(m)))),
        ("torch_killed_in_hook", killed_in_training(lambda m: (with_hook(m, dlcp.LossBound(0)), sgd(m)))),
        ("torch_killed_in_dear", killed_in_training(lambda m: (m, dlcp.DeAR(m, sgd(m), fusion=0.2)))),
        ("torch_never_averaged", lambda: ranks(2, never_averaged) == 1),
    ]
    return run_all(live) or bad


if __name__ == "__main__":
    sys.exit(main())
