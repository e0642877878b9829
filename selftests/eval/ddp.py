# SPDX-License-Identifier: GPL-2.0
"""In the lab: ranks of userspace/torch/demo/train.py, PyTorch's DistributedDataParallel,
one in each host. They are forked, since importing PyTorch takes long there."""

import ctypes
import itertools
import multiprocessing
import os
import sys
import time
from pathlib import Path

TORCH = Path(__file__).resolve().parent.parent.parent / "userspace" / "torch"
sys.path[:0] = [str(TORCH), str(TORCH / "demo")]
import train as script  # noqa: E402  (and PyTorch)

CLONE_NEWNET = 0x40000000
PR_SET_TIMERSLACK = 29
PORTS = itertools.count(29500)      # one for each training: the last one's is still in use


class Failed(Exception):
    pass


def load_gloo_device(library):
    """The device says to PyTorch that it is there."""
    ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)


def enter(host):
    """This process, into a network name space."""
    libc = ctypes.CDLL(None, use_errno=True)
    space = os.open(f"/run/netns/{host}", os.O_RDONLY)
    if libc.setns(space, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), f"setns {host}")
    os.close(space)


def rank_main(host, env, words):
    enter(host)
    # A step sleeps eight times, by default 50 us too long
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(1))
    os.environ.update(env)
    script.main(words)


def words_of(training, contestant, seed, images):
    words = ["--images", images or training.images, "--batch", training.batch, "--epochs",
             training.epochs, "--compute-us", training.compute_us, "--seed", seed,
             "--model", training.model, "--hidden", training.hidden,
             "--more-layers", training.more_layers, "--lr", training.lr, "--eval-every", 5,
             "--bucket-mb", contestant.dear and training.buffer_mb or training.bucket_mb]
    if contestant.transport == "dlcp" and not contestant.gloo:
        words += ["--backend", "dlcp", "--bound", contestant.bound, *["--dear"] * contestant.dear]
        if contestant.bound:
            words += ["--droppable", 0.5 if contestant.tags else 0,
                      "--correct", {"none": "nothing"}.get(contestant.correct, contestant.correct)]
    else:
        words += ["--backend", "gloo"]
    return list(map(str, words))


def train(hosts, addresses, words, gloo_device, timeout):
    """One training."""
    env = {"WORLD_SIZE": str(len(hosts)), "MASTER_ADDR": addresses[0], "MASTER_PORT": str(next(PORTS)),
           "GLOO_SOCKET_IFNAME": "eth0"}
    if gloo_device:
        env["GLOO_DEVICE_TRANSPORT"] = gloo_device
    fork = multiprocessing.get_context("fork")
    ranks = []
    for rank, (host, address) in enumerate(zip(hosts, addresses)):
        own = env | {"RANK": str(rank), "DLCP_ADDR": address}
        ranks.append(fork.Process(target=rank_main, args=(host, own, words)))
        ranks[-1].start()
    end = time.monotonic() + timeout
    for rank in ranks:
        rank.join(max(end - time.monotonic(), 0))
    codes = [rank.exitcode for rank in ranks]
    for rank in ranks:
        rank.kill()
        rank.join()
    if any(codes) or None in codes:
        raise Failed(f"exit codes of the ranks: {codes}")
