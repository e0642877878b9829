# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bounded loss for DistributedDataParallel: a communication hook."""

import ctypes

import torch
import torch.distributed as dist

from . import _lib
from ._lib import Args, PhaseState, lib

_CORRECT = {"feedback": _lib.FEEDBACK, "average": _lib.AVERAGE, "nothing": _lib.NOTHING}
_ALGO = {"auto": _lib.AUTO, "ring": _lib.RING, "transpose": _lib.TRANSPOSE, "server": _lib.SERVER}


def ppm(share):
    """Parts per million"""
    if not 0 <= share <= 1:
        raise ValueError(f"a share of {share}")
    return int(round(share * 1e6))


class Phase:
    """A bound that is `low` while the norm of the gradient changes by more
    than `threshold` (relative) from step to step, and `hold` steps longer,
    and `high` elsewhere."""

    def __init__(self, low, high, threshold=0.5, hold=10):
        self.state = PhaseState(ppm(low), ppm(high), threshold, hold, 0, 0)

    def next(self, norm):
        """The bound for the next step, in parts per million"""
        return lib.dlcp_coll_phase_next(ctypes.byref(self.state), norm)


class Loss:
    """How gradients may be lost, and what makes up for it.

    bound: share of each gradient, or a Phase
    correct: "feedback" (what was lost comes with the next gradient),
        "average" (divide by what arrived) or "nothing" (for experiments)
    droppable, critical: shares of the segments with the smallest and largest
        magnitudes that go first, and are never given up
    algo: "auto", "ring", "transpose", "server"
    group: process group; None: the default one
    """

    def __init__(self, bound, correct="feedback", droppable=0.5, critical=0.0, algo="auto", group=None):
        self.phase = bound if isinstance(bound, Phase) else None
        self.bound = self.phase.state.low_ppm if self.phase else ppm(bound)
        self.correct, self.algo, self.group = _CORRECT[correct], _ALGO[algo], group
        self.droppable, self.critical = droppable, critical
        self.buckets = 1
        self.first = True
        self.squares = 0.0

    def process_group(self):
        """The group to use"""
        group = self.group or dist.distributed_c10d._get_default_group()  # pylint: disable=protected-access
        if not hasattr(group, "reduce_flat"):
            raise TypeError('bounded loss wants the backend "dlcp"')
        return group

    def args(self, name, prio):
        """For one average of the tensor `name`"""
        return Args(
            tensor=name,
            reduce=_lib.AVG,
            algo=self.algo,
            correct=self.correct,
            prio=prio,
            loss_ppm=self.bound,
            droppable=self.droppable,
            critical=self.critical,
        )

    def reduced(self, flat, last):
        """A gradient is there: the phase follows their norm, the same everywhere"""
        if not self.phase:
            return
        self.squares += float(torch.dot(flat.float(), flat.float()))
        if last:
            self.bound = self.phase.next(self.squares**0.5)
            self.squares = 0.0


def ddp_hook(state, bucket) -> torch.futures.Future[torch.Tensor]:
    """For DistributedDataParallel.register_comm_hook(Loss(...), ddp_hook)

    Bucket 0 has the last layers, which are the least urgent.
    """
    flat, index = bucket.buffer(), bucket.index()
    state.buckets = max(state.buckets, index + 1)
    prio = lib.dlcp_coll_prio(state.buckets - 1 - index, state.buckets)
    args = state.args((index + 1) << 40 | flat.numel(), prio)
    last = bucket.is_last()
    # Buckets are made anew after the first step: nothing of it could be fed back
    if state.first:
        args.loss_ppm = 0
        state.first = not last
    work = state.process_group().reduce_flat(flat, args, flat, lambda: state.reduced(flat, last))
    return work.get_future()
