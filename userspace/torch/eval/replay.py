#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Accuracy under loss, natively: what was forgiven is replayed, not sent.

A CNN learns Fashion-MNIST, or a small GPT to write, character by character, as the
licences that come with Debian, from several workers' gradients, of which segments
are missing: independently, in bursts, or as traces say that were recorded in the
lab with DLCP_COLL_TRACE (segment by segment, step by step). What is missing
is corrected by feedback, by averages over what arrived, or not at all. Correction
"thc": nothing is missing, but gradients go in THC's 4 bits (wants libdlcp.so.1, or
DLCP_LIBRARY).

    replay.py [--losses none,independent,bursty] [--rate 0.3] [--seeds 2] ...

`make eval ONLY=ablation-trace` records traces and replays them. By hand (build/ is
shared between guest and host):

    DLCP_COLL_TRACE=$PWD/build/trace selftests/vm/lab --time inf-cpu -- \\
        userspace/tools/coll-lab hosts=4 loss=10 -- dlcp -b $(replay.py --bytes) --loss 0.1 -n 400 -w 0
    replay.py --losses none,trace --trace build/trace --rate 0.1 --steps 400

Prints a Markdown table; --json FILE gets a line for every run as it ends.
"""

import argparse
import ctypes
import functools
import glob
import itertools
import json
import os
import statistics
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy

try:
    import torch
    from torch import nn
except ImportError:
    sys.exit("replay.py: wants PyTorch: scripts/install-deps torch")

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import fashion_mnist  # noqa: E402  pylint: disable=wrong-import-position
import licences  # noqa: E402  pylint: disable=wrong-import-position

# Module, size (105,866 and 120,704 parameters) and the optimiser's rate
TASKS = {"cnn": (fashion_mnist, 64, 0.05), "gpt": (licences, 64, 0.003)}
SEGMENT = 362  # floats of a packet


# --- what is missing: for each step, (workers x elements) of 0 and 1. There is a random number
# in each step for each segment, wanted or not, so that all losses go with the same batches


class Independent:
    """Each segment by itself"""

    def __init__(self, rate):
        self.rate = rate

    def segments(self, draw):
        """1: it arrives"""
        return draw >= self.rate

    def mask(self, _step, offered, draw):
        """1: it arrives, for each element of what the workers offer"""
        good = self.segments(draw).repeat(SEGMENT, axis=1)[:, : offered.shape[1]]
        return torch.from_numpy(good.astype(numpy.float32))


class Bursty(Independent):
    """Bursts of 20 segments on average (a Markov chain, step after step), the same rate"""

    LENGTH = 20
    state = True

    def segments(self, draw):
        good, enter = numpy.empty(draw.shape, bool), self.rate / (1 - self.rate) / self.LENGTH
        for i in range(draw.shape[1]):
            self.state = numpy.where(self.state, draw[:, i] >= enter, draw[:, i] < 1 / self.LENGTH)
            good[:, i] = self.state
        return good


def order(values, droppable):
    """In which a message's segments are sent: that share of them, the smallest, is tagged
    droppable and goes last"""
    means = numpy.array([part.abs().mean().item() for part in values.split(SEGMENT)])
    last = numpy.zeros(len(means), bool)
    last[numpy.argsort(means, kind="stable")[: int(droppable * len(means))]] = True
    return numpy.argsort(last, kind="stable")


@functools.cache
def recorded(prefix):
    """Of each step the messages of the reducing half: (sender, first element, elements,
    segments that are missing)"""
    steps = {}
    for path in glob.glob(f"{glob.escape(prefix)}.*"):
        with open(path, encoding="ascii") as file:
            for line in file:
                op, _, half, sender, at, n, *gaps = map(int, line.split())
                if half != 1:
                    continue
                lost = []
                for first, many in zip(gaps[::2], gaps[1::2]):
                    if (first - at) % SEGMENT:
                        sys.exit(f"{path}: its segments are not of {SEGMENT} elements")
                    lost += range((first - at) // SEGMENT, -(-(first - at + many) // SEGMENT))
                steps.setdefault(op, []).append((sender, at, n, numpy.array(lost, int)))
    if len({len(messages) for messages in steps.values()}) != 1:
        sys.exit(f"{prefix}: no trace, or not a whole one")
    return [steps[op] for op in sorted(steps)]


class Trace:
    """What was really forgiven; from the start again when it ends. All that the kernel does
    with a tag of droppable is to send the segment last. So with tags a trace that was recorded
    without says what is missing of the segments in this other order."""

    def __init__(self, prefix, shape, start, droppable):
        self.steps, self.start, self.droppable = recorded(prefix), start, droppable
        found = tuple(max(x) for x in zip(*((sender + 1, at + n) for sender, at, n, _ in self.steps[0])))
        if found != shape:
            sys.exit(f"{prefix}: a trace of (workers, elements) {found}, not {shape}")

    def at_bound(self, bound):
        """Share of the messages of which no further segment might be missing"""
        return statistics.mean((len(m[3]) + 1) * SEGMENT > bound * m[2] for step in self.steps for m in step)

    def tenths(self):
        """Share that is missing from the first and the last tenth of a message"""
        found = []
        for _, _, n, lost in (m for step in self.steps for m in step):
            segments = -(-n // SEGMENT)
            tenth = max(segments // 10, 1)
            found.append(((lost < tenth).sum() / tenth, (lost >= segments - tenth).sum() / tenth))
        return [statistics.mean(shares) for shares in zip(*found)]

    def mask(self, step, offered, _draw):
        """1: it arrives"""
        mask = torch.ones(offered.shape)
        for sender, at, n, lost in self.steps[(self.start + step) % len(self.steps)]:
            if self.droppable and len(lost):
                lost = order(offered[sender, at : at + n], self.droppable)[lost]
            for segment in lost:
                mask[sender, at + segment * SEGMENT : min(at + (segment + 1) * SEGMENT, at + n)] = 0
        return mask


def bursts(mask):
    """How many there are"""
    missing = mask.numpy() == 0
    return int(missing[:, 0].sum() + (missing[:, 1:] & ~missing[:, :-1]).sum())


# --- training


def combine(offered, mask, correct, owed):
    """The average that the workers get, and what they owe themselves"""
    if correct == "feedback":
        owed = offered * (1 - mask)
    arrived = offered * mask
    if correct == "average":
        return arrived.sum(0) / mask.sum(0).clamp(min=1), owed
    return arrived.mean(0), owed


class Thc:
    """THC's codecs, one for each worker, as libdlcp has them"""

    def __init__(self, workers, count, seed, one_norm=False):
        self.one_norm = one_norm
        self.lib, self.count, self.step = ctypes.CDLL(os.environ.get("DLCP_LIBRARY", "libdlcp.so.1")), count, 0
        size, ptr, number = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int
        for name, result, arguments in (
            ("new", ptr, [size, ctypes.c_uint64]), ("units", size, [size]), ("code_bytes", size, [size]),
            ("width", number, [number]), ("sum_bytes", size, [size, number]), ("blocks", size, [size]),
            ("norms", None, [ptr, ptr, ptr]), ("encode", None, [ptr, ptr, ptr, ctypes.c_uint64, ptr]),
            ("add", None, [ptr, ptr, size, number, number]), ("decode", None, [ptr, ptr, ctypes.c_uint64, ptr, number, ptr]),
        ):  # fmt: skip
            call = self.call(name)
            call.restype, call.argtypes = result, arguments
        self.codecs = [self.call("new")(count, 1000 * seed + w) for w in range(workers)]
        self.width = self.call("width")(workers)
        self.codes = numpy.empty(self.call("code_bytes")(count), numpy.uint8)
        self.norms = numpy.empty((workers, self.call("blocks")(count)), numpy.float32)
        self.bytes = self.codes.nbytes + 2 * (1 if one_norm else self.norms.shape[1])
        self.sums = numpy.empty(self.call("sum_bytes")(count, self.width), numpy.uint8)

    def call(self, name):
        """A function of the library"""
        return getattr(self.lib, f"dlcp_thc_{name}")

    def block_units(self):
        """Of each block: 8, and for the rest what its binary digits say"""
        whole, rest = divmod(self.call("units")(self.count), 8)
        return numpy.array([8] * whole + [n for n in (4, 2, 1) if rest & n])

    def combine(self, grads):
        """The average, and it is up to the codecs to remember the errors"""
        grads, units = grads.contiguous(), self.call("units")(self.count)
        for codec, grad, norms in zip(self.codecs, grads, self.norms):
            self.call("norms")(codec, grad.data_ptr(), norms.ctypes.data)
            if self.one_norm:  # of each block its share, by its size
                norms[:] = numpy.sqrt(numpy.sum(norms.astype(numpy.float64) ** 2) * self.block_units() / units)
        most = self.norms.max(0)
        for i, (codec, grad) in enumerate(zip(self.codecs, grads)):
            self.call("encode")(codec, grad.data_ptr(), most.ctypes.data, self.step, self.codes.ctypes.data)
            self.call("add")(self.sums.ctypes.data, self.codes.ctypes.data, units, self.width, i == 0)
        # who counts the contributions is the receiver: all arrived
        self.sums.reshape(units, -1)[:, -2:].view(numpy.uint16)[:] = len(self.codecs)
        out = torch.empty(self.count)
        self.call("decode")(self.codecs[0], most.ctypes.data, self.step, self.sums.ctypes.data, self.width, out.data_ptr())
        self.step += 1
        return out


def gradient(model, x, y):
    """Flat"""
    model.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    return torch.cat([p.grad.view(-1) for p in model.parameters()])


def apply(optimizer, model, flat):
    """One step with a gradient"""
    at = 0
    for p in model.parameters():
        p.grad = flat[at : at + p.numel()].view_as(p).clone()
        at += p.numel()
    optimizer.step()


@functools.cache
def data_of(model):
    """For training, and for the test"""
    return TASKS[model][0].load("train"), TASKS[model][0].load("t10k")


def new_loss(options, kind, shape, seed):
    """@kind: of --losses, or (trace, share that is tagged)"""
    if kind == "bursty":
        return Bursty(options.rate)
    if kind in ("none", "independent"):
        return Independent(options.rate if kind == "independent" else 0.0)
    # each seed begins elsewhere
    return Trace(kind[0], shape, (seed - 1) * 67, kind[1])


def name_of(kind):
    """For tables"""
    if isinstance(kind, str):
        return kind
    return os.path.basename(kind[0]) + (f", {100 * kind[1]:g} % tagged" if kind[1] else "")


def train(options, kind, correct, seed):
    """One run. Return: a dict"""
    torch.manual_seed(seed)
    rng = numpy.random.default_rng(seed)
    module, size, _ = TASKS[options.model]
    model, ((inputs, labels), test) = module.new_model(size), data_of(options.model)
    count = sum(p.numel() for p in model.parameters())
    optimizer = module.new_optimizer(model.parameters(), options.lr)
    loss = new_loss(options, kind, (options.workers, count), seed)
    thc = Thc(options.workers, count, seed, options.one_norm) if correct == "thc" else None
    owed, lost, nr_bursts, batch = torch.zeros(options.workers, count), [], 0, options.batch
    wrong, ratios = torch.zeros(count), []
    start = time.monotonic()
    for step in range(options.steps):
        if options.decay:
            optimizer.param_groups[0]["lr"] = options.lr * (1 - step / options.steps)
        rows = torch.from_numpy(rng.integers(0, len(labels), (options.workers, batch)))
        grads = torch.stack([gradient(model, inputs[r], labels[r]) for r in rows])
        offered = grads + owed
        mask = loss.mask(step, offered, rng.random((options.workers, -(-count // SEGMENT))))
        lost.append((1 - mask.mean(1)).tolist())
        nr_bursts += bursts(mask)
        if thc:
            flat = thc.combine(grads)
        else:
            flat, owed = combine(offered, mask, correct, owed)
        exact = grads.mean(0)
        wrong += flat - exact
        ratios.append(((flat - exact).norm() / exact.norm()).item())
        apply(optimizer, model, flat)
    lost = numpy.array(lost)
    return {
        "model": options.model, "loss": name_of(kind), "correct": correct, "seed": seed, "rate": options.rate,
        "steps": options.steps, "workers": options.workers, "bytes_up": thc.bytes if thc else 4 * count,
        # shares; a burst in segments
        "missing": lost.mean(), "by_worker": lost.mean(0).tolist(), "by_step": lost.mean(1).round(5).tolist(),
        "burst": lost.sum() * count / SEGMENT / max(nr_bursts, 1),
        "at_bound": loss.at_bound(options.rate) if isinstance(loss, Trace) else None,
        "tenths": loss.tenths() if isinstance(loss, Trace) else None,
        # of the averages: of one, and of all together, over the norm of the exact one (of the last step)
        "error": statistics.mean(ratios), "errors_together": (wrong.norm() / exact.norm()).item(),
        "accuracy": fashion_mnist.accuracy(model, *test), "seconds": time.monotonic() - start,
    }  # fmt: skip


def show(runs):
    """Markdown"""
    print("| loss | correction | missing | accuracy, mean of seeds | least | most |")
    print("| --- | --- | --- | --- | --- | --- |")
    for key in dict.fromkeys((r["loss"], r["correct"]) for r in runs):
        some = [r for r in runs if (r["loss"], r["correct"]) == key]
        found = [100 * r["accuracy"] for r in some]
        print(
            f"| {key[0]} | {key[1]} | {100 * some[0]['missing']:.1f} % | {statistics.mean(found):.2f} % "
            f"| {min(found):.2f} % | {max(found):.2f} % |"
        )


def contestants(options):
    """What to compare: (loss, correction)"""
    for word in options.losses.split(","):
        kinds, corrections = [word], options.corrections.split(",")
        if word == "trace":
            kinds = [(prefix, options.droppable) for prefix in options.trace.split(",")]
        elif word == "none":
            corrections = ["nothing", *(["thc"] if options.thc else [])]
        yield from itertools.product(kinds, corrections)


def plan(options):
    """What to run: (loss, correction, seed). Seed by seed: what is stopped early has compared some"""
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        yield from ((*contestant, seed) for contestant in contestants(options))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", action="store_true", help="say how many bytes a gradient has")
    parser.add_argument("--model", choices=TASKS, default="cnn")
    parser.add_argument("--losses", default="none,independent,bursty")
    parser.add_argument("--corrections", default="nothing,average,feedback")
    parser.add_argument("--rate", type=float, default=0.3, help="share of the segments that is lost; of a trace: its bound")
    parser.add_argument("--trace", default="", help="for --losses trace: prefixes of files that DLCP_COLL_TRACE made")
    parser.add_argument("--droppable", type=float, default=0, help="share of the segments tagged so in the traces")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--lr", type=float, help="the model's own by default")
    parser.add_argument("--decay", action="store_true", help="the rate falls to zero: less noise at the end")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--thc", action="store_true", help="without loss also in THC's code")
    parser.add_argument("--one-norm", action="store_true", help="THC with one norm for the whole gradient")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument("--json", help="file for all runs")
    options = parser.parse_args()
    module, size, lr = TASKS[options.model]
    if options.bytes:
        print(4 * sum(p.numel() for p in module.new_model(size).parameters()))
        return
    options.lr = options.lr or lr
    torch.set_num_threads(1)
    data_of(options.model)  # once for all jobs
    runs = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for run in pool.map(functools.partial(train, options), *zip(*plan(options))):
            runs.append(run)
            if options.json:
                with open(options.json, "a", encoding="ascii") as file:
                    print(json.dumps(run), file=file)
    show(runs)


if __name__ == "__main__":
    main()
