#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The package dlcp, with PyTorch. Every rank is a process, over loopback.

Without the kernel module only what needs none is tested; all of it in the lab:
selftests/vm/lab -- userspace/torch/tests/run
"""

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
import zlib
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [PACKAGE, os.path.join(PACKAGE, "demo")]
import train as demo  # pylint: disable=wrong-import-position

import dlcp  # pylint: disable=wrong-import-position
from dlcp.dear import Tuner  # pylint: disable=wrong-import-position

PORT = [29500]
# Debian's PyTorch 2.6 asks itself for a store with libuv, which it was built without
os.environ.setdefault("USE_LIBUV", "0")


def have_module():
    """Can this kernel make DLCP sockets?"""
    try:
        socket.socket(socket.AF_INET, 7, 0).close()
        return True
    except OSError:
        return False


def in_child(test):
    """In a process of its own, of which nothing remains here. Return: what test() says"""
    pid = os.fork()
    if not pid:
        try:
            good = test()
            sys.stdout.flush()
            os._exit(not good)
        except BaseException:
            print("#", traceback.format_exc().replace("\n", "\n# "), flush=True)
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def rank_main(rank, world, test, backend, timeout):
    try:
        torch.set_num_threads(1)
        os.environ.update(
            RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(PORT[0])
        )
        dist.init_process_group(backend, timeout=timedelta(seconds=timeout))
        test(rank)
        dist.destroy_process_group()
    except BaseException:
        print("# rank", rank, traceback.format_exc().replace("\n", "\n# "), flush=True)
        os._exit(1)


def ranks(world, test, backend="dlcp", timeout=60):
    """Run test(rank) in `world` processes. Return: ranks that failed"""
    PORT[0] += 1
    fork = multiprocessing.get_context("fork")
    children = [fork.Process(target=rank_main, args=(rank, world, test, backend, timeout)) for rank in range(world)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    return sum(child.exitcode != 0 for child in children)


# --- the operations


def operations(rank):
    world = dist.get_world_size()
    total = world * (world - 1) // 2
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int8, torch.int64, torch.float64):
        for count in (1, 5, 30000):
            x = torch.full((count,), rank).to(dtype)
            dist.all_reduce(x)
            assert (x == total).all(), (dtype, count, x)
    x = torch.full((4, 6), float(rank)).t()  # not contiguous
    dist.all_reduce(x, op=dist.ReduceOp.AVG if hasattr(dist.ReduceOp, "AVG") else dist.ReduceOp.SUM)
    assert (x == total / world).all()
    x = torch.tensor([float(rank)])
    dist.all_reduce(x, op=dist.ReduceOp.MAX)
    assert x.item() == world - 1
    x = torch.arange(5, dtype=torch.int64) * (rank == 1)
    dist.broadcast(x, src=1)
    assert x.tolist() == [0, 1, 2, 3, 4]
    parts = [torch.zeros(3) for _ in range(world)]
    dist.all_gather(parts, torch.full((3,), float(rank)))
    assert [p[0].item() for p in parts] == list(range(world))
    out = torch.zeros(7)
    dist.reduce_scatter(out, [torch.full((7,), float(r + rank)) for r in range(world)])
    assert (out == world * rank + total).all()
    got = [torch.zeros(2) for _ in range(world)] if rank == 2 else None
    dist.gather(torch.full((2,), float(rank)), got, dst=2)
    assert rank != 2 or [g[1].item() for g in got] == list(range(world))
    out = torch.zeros(2)
    dist.scatter(out, [torch.full((2,), 5.0 + r) for r in range(world)] if rank == 0 else None, src=0)
    assert out.tolist() == [5.0 + rank] * 2
    x = torch.full((3,), float(rank))
    dist.reduce(x, dst=1)
    assert x[0].item() == (total if rank == 1 else rank)
    dist.barrier()
    x = torch.tensor([1.0, float("nan") if rank == 0 else 2.0] * 3000)
    dist.all_reduce(x)
    assert x[0].item() == world and x[1].isnan()
    nothing = torch.zeros(0)
    dist.all_reduce(nothing)
    dist.broadcast(nothing, src=1)
    dist.all_gather([torch.zeros(0) for _ in range(world)], nothing)
    dist.reduce_scatter(nothing, [torch.zeros(0) for _ in range(world)])


def alone(rank):
    """A world of one: what comes out is what went in"""
    x = torch.arange(5000.0)
    dist.all_reduce(x)
    dist.broadcast(x, src=0)
    out, parts = torch.zeros(5000), [torch.zeros(5000)]
    dist.reduce_scatter(out, [x])
    dist.all_gather(parts, x)
    dist.barrier()
    assert torch.equal(out, x) and torch.equal(parts[0], x) and torch.equal(x, torch.arange(5000.0))
    by_ddp, by_dear = train(rank, plain_ddp), train(rank, dear(fusion=0.2))
    assert torch.allclose(by_ddp, by_dear, rtol=1e-4, atol=1e-5)


def handles(rank):
    tensors = [torch.full((20000 + i,), float(rank)) for i in range(10)]
    works = [dist.all_reduce(t, async_op=True) for t in tensors]
    for work in reversed(works):
        work.wait()
        assert work.is_completed()
    for t in tensors:
        assert (t == 3).all()
    pairs = dist.new_group([0, 1])
    if rank < 2:
        x = torch.ones(9)
        dist.all_reduce(x, group=pairs)
        assert (x == 2).all()


def refusals(rank):
    for call in (
        lambda: dist.all_reduce(torch.ones(3), op=dist.ReduceOp.BAND),
        lambda: dist.all_reduce(torch.ones(3).bool(), op=dist.ReduceOp.AVG),
        lambda: dist.all_reduce(torch.ones(3).to_sparse(), op=dist.ReduceOp.MAX),
        lambda: dist.send(torch.ones(3).to_sparse(), 1 - rank),
    ):
        try:
            call()
        except RuntimeError as error:
            assert "DLCP" in str(error), error
        else:
            assert False
    try:
        dist.all_reduce(torch.ones(3000 + rank))
    except dlcp.DlcpError as error:
        assert "3000" in str(error) and "3001" in str(error), error
    else:
        assert False


def killed(rank):
    start = time.monotonic()
    try:
        # The others may be in it still when rank 1 is through
        dist.all_reduce(torch.ones(9))
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        while time.monotonic() < start + 50:
            dist.all_reduce(torch.ones(100000))
    except dlcp.DlcpError as error:
        assert "rank 1 died" in str(error), error
    else:
        assert False


def leaves(rank):
    """A process of multiprocessing that ends says goodbye, and is not taken for dead"""
    dist.barrier()  # rank 0 has PyTorch's store: both are through with that
    if rank == 0:
        return
    try:
        dist.barrier()
    except dlcp.DlcpError as error:
        assert "has left the group" in str(error), error
    else:
        assert False


HEARD = multiprocessing.get_context("fork").Event()


def late(rank):
    """Who has waited for too long, and who comes too late, hear for whom"""
    dist.barrier()
    if rank == 1:
        assert HEARD.wait(120)
    try:
        dist.all_reduce(torch.ones(9))
    except dlcp.DlcpError as error:
        assert "not begun by rank 1" in str(error), error
    else:
        assert False
    HEARD.set()


def at_rendezvous():
    store = next(dist.rendezvous("env://"))
    signal.pause()
    del store


def never_comes():
    """Rank 1 is at the rendezvous, and no further"""
    PORT[0] += 1
    os.environ.update(RANK="1", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(PORT[0]))
    absent = multiprocessing.get_context("fork").Process(target=at_rendezvous)
    absent.start()

    def comes():
        os.environ["RANK"] = "0"
        try:
            dist.init_process_group("dlcp", timeout=timedelta(seconds=5))
        except dlcp.DlcpError as error:
            print("#", error, flush=True)
            return "rank 1 did not come" in str(error)
        return False

    good = in_child(comes)
    absent.kill()
    absent.join()
    return good


# --- training


def perceptron(_rank):
    return torch.nn.Sequential(
        torch.nn.Linear(20, 300), torch.nn.ReLU(), torch.nn.Linear(300, 300), torch.nn.ReLU(), torch.nn.Linear(300, 4)
    )


def model_and_data(rank, make=perceptron):
    torch.manual_seed(1)
    model = make(rank)
    torch.manual_seed(10 + rank)
    return model, [(torch.randn(16, 20), torch.randint(0, 4, (16,))) for _ in range(8)]


def train(rank, wrap, make=perceptron):
    """wrap(model) -> (model to call, optimiser). Return: parameters"""
    model, data = model_and_data(rank, make)
    called, optimizer = wrap(model)
    for x, y in data:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(called(x), y).backward()
        optimizer.step()
    if hasattr(optimizer, "synchronize"):
        optimizer.synchronize()
    return torch.cat([p.detach().view(-1) for p in model.parameters()])


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def plain_ddp(model):
    return DistributedDataParallel(model), sgd(model)


def hooked(loss):
    def wrap(model):
        ddp = DistributedDataParallel(model, bucket_cap_mb=0.2)
        ddp.register_comm_hook(loss, dlcp.ddp_hook)
        return ddp, sgd(model)

    return wrap


def dear(**options):
    def wrap(model):
        return model, dlcp.DeAR(model, sgd(model), **options)

    return wrap


def fused(_rank):
    """A module with as much as a buffer takes is not put with the small one before it, but
    those that follow go with it, up to a quarter of a buffer; what is left over is at the front"""

    def lengths(*sizes):
        _, optimizer = dear(fusion=0.004)(torch.nn.Sequential(*(torch.nn.Linear(*size) for size in sizes)))
        return [len(buffer.flat) for buffer in optimizer.buffers]

    assert lengths((2, 3), (3, 400), (4, 20), (4, 40), (400, 3), (2, 3)) == [9, 1600, 100 + 200, 1203 + 9]
    assert lengths((2, 3), (3, 400), (4, 40), (400, 3)) == [9, 1600 + 200, 1203]
    assert lengths(*[(15, 16)] * 6) == [256, 5 * 256]


class Backwards(torch.nn.Module):
    """What is used first is defined last"""

    def __init__(self):
        super().__init__()
        self.last, self.middle, self.first = (torch.nn.Linear(*size) for size in ((20, 4), (20, 20), (20, 20)))

    def forward(self, x):
        return self.last(self.middle(self.first(x)))


def as_used(rank):
    """Buffers are in the order in which modules are used"""
    as_by_ddp(lambda _rank: Backwards())(rank)
    network = Backwards()
    model, optimizer = dear(fusion=0.0001)(network)
    model(torch.ones(1, 20)).sum().backward()
    optimizer.step()
    found = [list(map(id, buffer.params)) for buffer in optimizer.buffers]
    assert found == [list(map(id, module.parameters())) for module in (network.first, network.middle, network.last)]


class Attention(torch.nn.Module):
    """The parameters of a child of MultiheadAttention are used, but the child is not called"""

    def __init__(self):
        super().__init__()
        self.before = torch.nn.Linear(20, 16)
        self.attention = torch.nn.MultiheadAttention(16, 2)
        self.after = torch.nn.Linear(16, 4)

    def forward(self, x):
        x = self.before(x).unsqueeze(1)
        return self.after(self.attention(x, x, x)[0].squeeze(1))


class Sometimes(torch.nn.Module):
    """Does without its middle in every other pass, of which ranks have different ones"""

    def __init__(self, rank):
        super().__init__()
        self.first, self.middle, self.last = (torch.nn.Linear(*size) for size in ((20, 20), (20, 20), (20, 4)))
        self.passes = rank

    def forward(self, x):
        self.passes += 1
        x = self.first(x)
        return self.last(self.middle(x) if self.passes % 2 else x)


class Outside(torch.nn.Module):
    """Uses the parameters of a module that it does not call"""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(20, 4)

    def forward(self, x):
        return x @ self.inner.weight.t()


def as_by_ddp(make, **options):
    """DeAR with a buffer for each module trains make(rank) as DistributedDataParallel does"""

    def test(rank):
        wanted = train(rank, lambda model: (DistributedDataParallel(model, **options), sgd(model)), make)
        params = train(rank, dear(fusion=1e-6), make)
        assert torch.allclose(params, wanted, rtol=1e-4, atol=1e-5), (params - wanted).abs().max()

    return test


def short_cut(_rank):
    """In a test PyTorch passes a transformer's parameters to one function: they are up to date"""
    torch.manual_seed(1)
    model, optimizer = dear(fusion=1)(torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0, batch_first=True))
    x = torch.randn(2, 3, 16)
    called = []
    model.linear1.register_forward_hook(lambda *_: called.append(1))
    model(x).square().sum().backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        first = model(x)
    optimizer.synchronize()
    with torch.no_grad():
        assert torch.equal(first, model(x))
    assert len(called) in (1, 3)  # so there was a short cut; 2.6 takes none past hooks


def outside(rank):
    """Nobody trains with old parameters without hearing of it"""
    torch.manual_seed(1)
    model, optimizer = dear(fusion=1)(Outside())
    x = model_and_data(rank)[1][0][0]
    for step in range(3):
        if step == 1:
            optimizer.synchronize()
        try:
            model(x).sum().backward()
        except RuntimeError as error:
            assert step == 2 and "synchronize()" in str(error), error
            return
        optimizer.step()
    assert False


EXPECTED = "/tmp/dlcp-torch-expected.%d" % os.getpid()


def by_gloo(rank):
    params = train(rank, plain_ddp)
    if rank == 0:
        torch.save(params, EXPECTED)


def compare(wrap):
    def test(rank):
        params = train(rank, wrap())
        wanted = torch.load(EXPECTED)
        assert torch.allclose(params, wanted, rtol=1e-4, atol=1e-5), (params - wanted).abs().max()
        first = params.clone()
        dist.broadcast(first, src=0)
        assert torch.equal(first, params)  # replicas have the same bits

    return test


class Watched(dlcp.LossBound):
    """Remembers the arguments it gave, for each step"""

    def __init__(self):
        super().__init__(0.1)
        self.steps = [[]]

    def args(self, name, prio):
        given = super().args(name, prio)
        self.steps[-1].append(given)
        return given


def exact_steps(wrap, which):
    """Nothing may be lost in a step after which the buffers are others"""

    def test(rank):
        loss = Watched()
        model, data = model_and_data(rank)
        called, optimizer = wrap(loss)(model)
        for x, _ in data:
            optimizer.zero_grad()
            called(x).sum().backward()
            optimizer.step()
            loss.steps.append([])
        bounds = [set(args.loss_ppm for args in step) for step in loss.steps if step]
        assert bounds == [{0} if i in which else {100000} for i in range(len(data))], bounds

    return test


# --- a second bound


def lossy_link(percent):
    """The link between the ranks, all of which call this

    Packets are short, as a bound counts for each message by itself, and no
    multiple of an element long unless segments see to it.
    """
    dist.barrier()
    if dist.get_rank() == 0:
        subprocess.run(f"ip link set lo mtu {1499 if percent else 65536}", shell=True, check=True)
        subprocess.run(f"tc qdisc replace dev lo root netem loss {percent}% limit 100000", shell=True, check=True)
    dist.barrier()


def default_group():
    return dist.distributed_c10d._get_default_group()  # pylint: disable=protected-access


def missing():
    """Bytes, from all ranks' messages since the groups were made"""
    stats = default_group().stats()
    total = torch.tensor([stats["missing"]], dtype=torch.int64)
    dist.all_reduce(total)
    return int(total)


def all_have_the_same(optimizer):
    """Parameters and their state, bit for bit"""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    state = [t for p in params for _, t in sorted(optimizer.state[p].items()) if torch.is_tensor(t)]
    mine = torch.cat([t.detach().reshape(-1) for t in params + state])
    assert mine.isfinite().all()
    own = torch.tensor([zlib.crc32(mine.numpy().tobytes())])
    sums = [torch.zeros_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(sums, own)
    return all(torch.equal(own, other) for other in sums)


def adam(model):
    return torch.optim.Adam(model.parameters(), lr=0.001)


def by_hook(loss, model):
    ddp = DistributedDataParallel(model)
    ddp.register_comm_hook(loss, dlcp.ddp_hook)
    optimizer = adam(model)
    return ddp, optimizer, optimizer, lambda: loss.resync(optimizer)


def by_dear(loss, model):
    optimizer = dlcp.DeAR(model, adam(model), fusion=0.2, loss=loss)
    return model, optimizer, optimizer.optimizer, optimizer.synchronize


def second_bound(wrap, second):
    """Replicas differ where averages are missing, but not after every third step"""

    def test(rank):
        model, data = model_and_data(rank)
        called, optimizer, inner, after_step = wrap(dlcp.LossBound(0.0, second=second, resync=3), model)
        lossy_link(10)
        equal = []
        for x, y in data[:6]:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(called(x), y).backward()
            optimizer.step()
            after_step()
            equal.append(all_have_the_same(inner))
        lossy_link(0)
        lost = missing()
        if rank == 0:
            print(f"# {equal}, {lost} bytes missing")
        if second:
            assert lost and equal[2] and equal[5] and not (equal[1] and equal[4])
        else:
            assert not lost and all(equal)

    return test


def old_or_new(rank):
    """No element that should be an average is half of that and half of the rank's own"""
    group = default_group()
    for dtype in (torch.int32, torch.float32):
        mine = torch.full((300000,), 0x11111111 * (rank + 1) if dtype == torch.int32 else 1.1 * (rank + 1), dtype=dtype)
        total, out = mine.clone(), mine.clone()
        dist.all_reduce(total)
        lossy_link(10)
        group.reduce_flat(out, dlcp._lib.Args(loss2_ppm=100000)).wait()  # pylint: disable=protected-access
        lossy_link(0)
        assert ((out == mine) | (out == total)).all()
    assert missing()


def overdue(rank):
    """Who forgets to call resync() hears of it; with `now` it is never too early"""
    model, data = model_and_data(rank)
    loss = dlcp.LossBound(0.1, second=0.1, resync=2)
    ddp, optimizer, _, _ = by_hook(loss, model)
    for _ in range(2):
        ddp(data[0][0]).sum().backward()
        optimizer.step()
    try:
        ddp(data[0][0]).sum().backward()
    except RuntimeError as error:
        assert "resync(optimizer)" in str(error), error
    else:
        assert False
    assert loss.resync(optimizer) and not loss.resync(optimizer) and loss.resync(optimizer, now=True)
    assert not dlcp.LossBound(0.1).resync(optimizer, now=True)


def refused(call):
    """With a ValueError? PyTorch 1.13 calls one of a hook RuntimeError: ValueError: ..."""
    try:
        call()
    except (ValueError, RuntimeError) as error:
        return isinstance(error, ValueError) or str(error).startswith("ValueError: bounded loss is for")
    return False


def bad_bounds(_rank):
    for options in ({"second": -0.1}, {"second": 1.1}, {"second": float("nan")}, {"second": 0.1, "resync": 0}):
        assert refused(lambda o=options: dlcp.LossBound(0.1, **o)), options
    loss = dlcp.LossBound(0.1, second=0.1)
    assert refused(loss.resync)
    numbers = torch.nn.Parameter(torch.zeros(3, dtype=torch.int32), requires_grad=False)
    assert refused(lambda: loss.resync(torch.optim.SGD([numbers], lr=1), now=True))
    model = torch.nn.Linear(3, 3).double()
    ddp = DistributedDataParallel(model)
    ddp.register_comm_hook(loss, dlcp.ddp_hook)
    assert refused(lambda: ddp(torch.ones(1, 3).double()).sum().backward())


def trains(name, wrap):
    return name, lambda: ranks(2, compare(wrap)) == 0


# --- without the module


def tuner_finds_the_best():
    tuner = Tuner(trials=10)
    more, tried = True, []
    while more:
        tried.append(tuner.megabytes())
        more = tuner.tell((torch.tensor(tried[-1]).log2().item() - 3) ** 2 + 5)
    assert len(set(round(t, 3) for t in tried)) > 5
    return len(tried) == 10 and 5 < tuner.megabytes() < 13


def demo_computes():
    """A third of the time in the forward pass, the rest in the backward pass, none in a test"""
    return computes("cnn", torch.zeros(2, 1, 28, 28), torch.zeros(2)) and computes(
        "gpt", torch.zeros(2, 64, dtype=torch.int64), torch.zeros(2, 64)
    )


def computes(model, examples, labels):
    slept, network = [], demo.TASKS[model][0].new_model(4)
    demo.Computing(network, examples, 3000)
    sleep, demo.time.sleep = demo.time.sleep, slept.append
    try:
        output = network(examples).sum()
        forward = sum(slept)
        output.backward()
        both = sum(slept)
        demo.fashion_mnist.accuracy(network, examples, labels)
    finally:
        demo.time.sleep = sleep
    print("#", model, slept)
    return abs(forward - 1e-3) < 1e-9 and abs(both - 3e-3) < 1e-9 and sum(slept) == both


def absent_module():
    """The error says what to do"""

    def test():
        os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29499")
        try:
            dist.init_process_group("dlcp")
        except dlcp.DlcpError as error:
            return "modprobe dlcp" in str(error)
        return False

    return in_child(test)


def run(name, test):
    start = time.monotonic()
    try:
        good = test()
    except Exception:  # pylint: disable=broad-except
        print("#", traceback.format_exc().replace("\n", "\n# "))
        good = False
    print(f"# {time.monotonic() - start:.1f} s")
    print("ok" if good else "not ok", name, flush=True)
    return not good


def run_all(tests, always=None):
    """Those that TESTS names, all without it. Return: whether any failed"""
    only, bad = os.environ.get("TESTS", "").split(","), False
    for name, test in tests:
        if only == [""] or name in only or name == always:
            bad |= run(name, test)
    return bad


def main():
    bad = run("torch_tuner", tuner_finds_the_best)
    # In a child: 2.x has no backward pass in a child of a process that had one itself
    bad |= run("torch_demo_computes", lambda: in_child(demo_computes))
    if not have_module():
        bad |= run("torch_absent_module", absent_module)
        print("skip torch-live: the running kernel has no DLCP")
        return bad
    tests = [
        ("torch_operations", lambda: ranks(3, operations) == 0),
        ("torch_handles_and_groups", lambda: ranks(3, handles) == 0),
        ("torch_alone", lambda: ranks(1, alone) == 0),
        ("torch_refusals", lambda: ranks(2, refusals) == 0),
        ("torch_killed_rank", lambda: ranks(3, killed) == 1),
        ("torch_rank_that_leaves", lambda: ranks(2, leaves) == 0),
        ("torch_rank_that_is_late", lambda: ranks(2, late, timeout=15) == 0),
        ("torch_rank_that_never_comes", never_comes),
        ("torch_gloo_for_comparison", lambda: ranks(2, by_gloo, "gloo") == 0),
        trains("torch_ddp", lambda: plain_ddp),
        trains("torch_hook_exact", lambda: hooked(dlcp.LossBound(0.0))),
        trains("torch_hook_feedback", lambda: hooked(dlcp.LossBound(dlcp.Phase(0.001, 0.1)))),
        ("torch_dear_buffers", lambda: ranks(1, fused) == 0),
        trains("torch_dear", lambda: dear(fusion=0.2)),
        trains("torch_dear_loss", lambda: dear(fusion=0.0001, loss=dlcp.LossBound(0.1, correct="average"))),
        trains("torch_dear_tuned", lambda: dear(trial_steps=2, trials=2)),
        ("torch_dear_attention", lambda: ranks(2, as_by_ddp(lambda rank: Attention())) == 0),
        ("torch_dear_as_used", lambda: ranks(2, as_used) == 0),
        ("torch_dear_sometimes", lambda: ranks(2, as_by_ddp(Sometimes, find_unused_parameters=True)) == 0),
        ("torch_dear_short_cut", lambda: ranks(1, short_cut) == 0),
        ("torch_dear_outside", lambda: ranks(2, outside) == 0),
        ("torch_old_or_new", lambda: ranks(3, old_or_new) == 0),
        ("torch_resync_overdue", lambda: ranks(2, overdue) == 0),
        ("torch_bad_bounds", lambda: ranks(1, bad_bounds) == 0),
        ("torch_hook_exact_first", lambda: ranks(1, exact_steps(hooked, (0,))) == 0),
        (
            "torch_dear_exact_last",
            lambda: ranks(1, exact_steps(lambda loss: dear(loss=loss, trial_steps=2, trials=2), (0, 2, 5))) == 0,
        ),
    ]
    for name, wrap in (("hook", by_hook), ("dear", by_dear)):
        for second in (0, 0.1):
            test = second_bound(wrap, second)
            tests.append((f"torch_{name}_second_{'bound' if second else 'exact'}", lambda t=test: ranks(3, t) == 0))
    bad |= run_all(tests, always="torch_gloo_for_comparison")
    if os.path.exists(EXPECTED):
        os.unlink(EXPECTED)
    return bad


if __name__ == "__main__":
    sys.exit(main())
