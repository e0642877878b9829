#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Accuracy under loss, natively: what was forgiven is replayed, not sent.

A CNN learns Fashion-MNIST, or a small GPT to write, character by character, as the
licences that come with Debian, from several workers' gradients, of which segments
are missing: independently, in bursts, or as a trace says that was recorded in
the lab with DLCP_COLL_TRACE (segment by segment, step by step). What is missing
is corrected by feedback, by averages over what arrived, or not at all. Correction
"thc": nothing is missing, but gradients go in THC's 4 bits (wants libdlcp.so.1, or
DLCP_LIBRARY).

    replay.py [--losses none,independent,bursty] [--rate 0.3] [--seeds 2] ...

To record and replay a trace (build/ is shared between guest and host):

    DLCP_COLL_TRACE=$PWD/build/trace selftests/vm/lab --time inf-cpu -- \\
        userspace/tools/coll-lab hosts=4 loss=10 -- dlcp --bytes $(replay.py --bytes) --loss 100000 --rounds 100
    replay.py --losses trace --trace build/trace --workers 4

Prints a Markdown table; --json FILE gets a line for every run as it ends.
"""

import argparse
import ctypes
import json
import os
import statistics
import sys
import time

import numpy
import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import fashion_mnist  # noqa: E402  pylint: disable=wrong-import-position
import licences  # noqa: E402  pylint: disable=wrong-import-position

# Module, size (105,866 and 120,704 parameters), optimiser and its rate
TASKS = {
    "cnn": (fashion_mnist, 64, lambda params, lr: torch.optim.SGD(params, lr=lr, momentum=0.9), 0.05),
    "gpt": (licences, 64, torch.optim.Adam, 0.003),
}
SEGMENT = 362  # floats of a packet


# --- what is missing: for each step, (workers x elements) of 0 and 1


class Independent:
    """Each segment by itself"""

    def __init__(self, rate, workers, count, rng):
        self.rate, self.shape, self.count, self.rng = rate, (workers, -(-count // SEGMENT)), count, rng

    def segments(self):
        """1: it arrives"""
        return self.rng.random(self.shape) >= self.rate

    def mask(self, _step):
        """1: it arrives, for each element"""
        return torch.from_numpy(self.segments().repeat(SEGMENT, axis=1)[:, : self.count].astype(numpy.float32))


class Bursty(Independent):
    """Bursts of 20 segments on average (a Markov chain), the same rate"""

    LENGTH = 20

    def segments(self):
        workers, n = self.shape
        good, state = numpy.empty(self.shape, bool), self.rng.random(workers) >= self.rate
        enter = self.rate / (1 - self.rate) / self.LENGTH
        for i in range(n):
            draw = self.rng.random(workers)
            state = numpy.where(state, draw >= enter, draw < 1 / self.LENGTH)
            good[:, i] = state
        return good


class Trace:
    """What was really forgiven; from the start again when it ends"""

    def __init__(self, prefix, workers, count):
        self.shape, self.steps = (workers, count), {}
        for rank in range(workers):
            with open(f"{prefix}.{rank}", encoding="ascii") as file:
                for line in file:
                    op, _, half, peer, first, n = map(int, line.split())
                    if half == 1:
                        self.steps.setdefault(op, []).append((peer, first, n))
        self.ops = sorted(self.steps)
        if not self.ops:
            raise SystemExit("nothing is missing in this trace")

    def mask(self, step):
        """1: it arrives"""
        mask = torch.ones(self.shape)
        for peer, first, n in self.steps[self.ops[step % len(self.ops)]]:
            mask[peer, first : first + n] = 0
        return mask


# --- training


def combine(grads, mask, correct, owed):
    """The average that the workers get, and what they owe themselves"""
    if correct == "feedback":
        grads = grads + owed
        owed = grads * (1 - mask)
    arrived = grads * mask
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
            ("norms", None, [ptr, ptr, ptr]), ("encode", None, [ptr, ptr, ctypes.c_uint64, ptr]),
            ("add", None, [ptr, ptr, size, number, number]), ("decode", None, [ptr, ptr, ctypes.c_uint64, ptr, number, ptr]),
        ):  # fmt: skip
            call = self.call(name)
            call.restype, call.argtypes = result, arguments
        self.codecs = [self.call("new")(count, 1000 * seed + w) for w in range(workers)]
        self.width = self.call("width")(workers)
        self.codes = numpy.empty(self.call("code_bytes")(count), numpy.uint8)
        self.norms = numpy.empty((workers, self.call("blocks")(count)), numpy.float32)
        self.bytes = self.codes.nbytes + (4 if one_norm else self.norms[0].nbytes)
        self.sums = numpy.empty(self.call("sum_bytes")(count, self.width), numpy.uint8)

    def call(self, name):
        """A function of the library"""
        return getattr(self.lib, f"dlcp_thc_{name}")

    def combine(self, grads):
        """The average, and it is up to the codecs to remember the errors"""
        for codec, grad, norms in zip(self.codecs, grads, self.norms):
            self.call("norms")(codec, grad.contiguous().data_ptr(), norms.ctypes.data)
            if self.one_norm:
                norms[:] = numpy.sqrt(numpy.mean(norms.astype(numpy.float64) ** 2))
        most = self.norms.max(0)
        units = self.call("units")(self.count)
        for i, codec in enumerate(self.codecs):
            self.call("encode")(codec, most.ctypes.data, self.step, self.codes.ctypes.data)
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


def train(options, kind, correct, seed, data):
    """One run. Return: a dict"""
    torch.manual_seed(seed)
    rng = numpy.random.default_rng(seed)
    module, size, new_optimizer, _ = TASKS[options.model]
    model, ((inputs, labels), test) = module.new_model(size), data
    count = sum(p.numel() for p in model.parameters())
    optimizer = new_optimizer(model.parameters(), options.lr)
    loss = {
        "none": lambda: Independent(0.0, options.workers, count, rng),
        "independent": lambda: Independent(options.rate, options.workers, count, rng),
        "bursty": lambda: Bursty(options.rate, options.workers, count, rng),
        "trace": lambda: Trace(options.trace, options.workers, count),
    }[kind]()
    thc = Thc(options.workers, count, seed, options.one_norm) if correct == "thc" else None
    owed, missing, batch = torch.zeros(options.workers, count), 0.0, options.batch
    wrong, ratios = torch.zeros(count), []
    start = time.monotonic()
    for step in range(options.steps):
        if options.decay:
            optimizer.param_groups[0]["lr"] = options.lr * (1 - step / options.steps)
        rows = torch.from_numpy(rng.integers(0, len(labels), (options.workers, batch)))
        grads = torch.stack([gradient(model, inputs[r], labels[r]) for r in rows])
        mask = loss.mask(step)
        missing += 1 - mask.mean().item()
        if thc:
            flat = thc.combine(grads)
        else:
            flat, owed = combine(grads, mask, correct, owed)
        exact = grads.mean(0)
        wrong += flat - exact
        ratios.append(((flat - exact).norm() / exact.norm()).item())
        apply(optimizer, model, flat)
    return {
        "model": options.model, "loss": kind, "correct": correct, "seed": seed, "missing": missing / options.steps,
        "rate": options.rate, "steps": options.steps, "workers": options.workers,
        "bytes_up": thc.bytes if thc else 4 * count,
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", action="store_true", help="say how many bytes a gradient has")
    parser.add_argument("--model", choices=TASKS, default="cnn")
    parser.add_argument("--losses", default="none,independent,bursty")
    parser.add_argument("--corrections", default="nothing,average,feedback")
    parser.add_argument("--rate", type=float, default=0.3, help="share of the segments that is lost")
    parser.add_argument("--trace", help="prefix of the files that DLCP_COLL_TRACE made")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--lr", type=float, help="the model's own by default")
    parser.add_argument("--decay", action="store_true", help="the rate falls to zero: less noise at the end")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--thc", action="store_true", help="without loss also in THC's code")
    parser.add_argument("--one-norm", action="store_true", help="THC with one norm for the whole gradient")
    parser.add_argument("--json", help="file for all runs")
    options = parser.parse_args()
    module, size, _, lr = TASKS[options.model]
    if options.bytes:
        print(4 * sum(p.numel() for p in module.new_model(size).parameters()))
        return
    options.lr = options.lr or lr
    torch.set_num_threads(1)
    data, runs = (module.load("train"), module.load("t10k")), []
    for kind in options.losses.split(","):
        for correct in ["nothing", *(["thc"] if options.thc else [])] if kind == "none" else options.corrections.split(","):
            for seed in range(1, options.seeds + 1):
                runs.append(train(options, kind, correct, seed, data))
                if options.json:
                    with open(options.json, "a", encoding="ascii") as file:
                        print(json.dumps(runs[-1]), file=file)
    show(runs)


if __name__ == "__main__":
    main()
