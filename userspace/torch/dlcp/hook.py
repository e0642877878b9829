# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bounded loss for DistributedDataParallel: a communication hook."""

import ctypes
import itertools
from typing import TYPE_CHECKING, Any, Iterator, Literal, Optional, Sequence, Union, get_args

import torch
import torch.distributed as dist

from . import _lib
from ._lib import Args, PhaseState, lib

if TYPE_CHECKING:
    from .group import DlcpGroup

# In the order of the enums of dlcp_coll.h
_Correct = Literal["feedback", "average", "nothing"]
_Algo = Literal["auto", "ring", "transpose", "server"]
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_NUMBERS = itertools.count(1)


def ppm(share: float) -> int:
    """Parts per million"""
    if not 0 <= share <= 1:
        raise ValueError(f"a share of {share}: shares are 0 to 1")
    return int(round(share * 1e6))


def _number_of(word: str, words: Any) -> int:
    if word not in get_args(words):
        raise ValueError(f"{word!r} is none of {', '.join(get_args(words))}")
    return get_args(words).index(word)


class Phase:
    """A bound that is `low` while the norm of the gradient changes by more
    than `threshold` (relative) from step to step, and `hold` steps longer,
    and `high` elsewhere."""

    def __init__(self, low: float, high: float, threshold: float = 0.5, hold: int = 10) -> None:
        self.state = PhaseState(low_ppm=ppm(low), high_ppm=ppm(high), threshold=threshold, hold=hold)

    def next(self, norm: float) -> int:
        """The bound for the next step, in parts per million"""
        return lib.dlcp_coll_phase_next(ctypes.byref(self.state), norm)


class LossBound:
    """How gradients may be lost, and what makes up for it.

    bound: share of each gradient, or a Phase
    correct: "feedback" (what was lost comes with the next gradient),
        "average" (divide by what arrived) or "nothing" (for experiments)
    droppable, critical: shares of the segments with the smallest and largest
        magnitudes that go first, and are never given up: no more than 1 together
    algo: "auto", "ring" (which cannot correct by "average"), "transpose",
        "server"
    group: process group; None: the default one
    second: share of each average, 0 to 1, that may be missing where it is
        distributed; 0, the default: all ranks get the same, bit for bit. Above
        0 a rank keeps its own gradient of this step there. Replicas differ from
        then on
    share: gradients of a step share their bounds: of a small one more than `bound` may be
        missing if less is of others
    resync: with `second`: after how many steps, 1 or more, they are made equal
        again, see resync()

    One for each model, and all ranks make theirs in the same order, those for
    DeAR too: what was lost is known by the number of the LossBound in this process.

    ValueError for what is out of range. With `second` each rank's Phase looks
    at what it has got itself.
    """

    def __init__(
        self,
        bound: Union[float, Phase],
        correct: _Correct = "feedback",
        droppable: float = 0.5,
        critical: float = 0.0,
        algo: _Algo = "auto",
        group: Optional[dist.ProcessGroup] = None,
        second: float = 0.0,
        resync: int = 100,
        share: bool = False,
    ) -> None:
        if resync < 1:
            raise ValueError(f"replicas made equal every {resync} steps: at least 1")
        if ppm(droppable) + ppm(critical) > 1000000:
            raise ValueError(f"shares of {droppable} and {critical} are more than all segments: together at most 1")
        if algo == "ring" and correct == "average":
            raise ValueError("in a ring nobody knows how many contributions arrived: take another algo, or another correct")
        self.number = next(_NUMBERS)
        self.second, self.every, self.since = ppm(second), resync, 0
        self.phase = bound if isinstance(bound, Phase) else None
        self.correct, self.algo, self.group = _number_of(correct, _Correct), _number_of(algo, _Algo), group
        self.droppable, self.critical = droppable, critical
        # Of the step under way; 0: its gradients do not share their bounds
        self.step = int(share)
        # The bound of the step under way, None before its first gradient; and of the step after it
        self.bound: Optional[int] = None
        self.next: int = bound.state.low_ppm if isinstance(bound, Phase) else ppm(bound)
        self.squares: dict[int, float] = {}
        # The hook's: place of the next bucket in its step, most buckets of a step and, once known,
        # of this one; the model's parameters, which the first step tells
        self.index, self.buckets, self.count = 0, 1, 0
        self.first = True
        self.params: set[int] = set()

    def process_group(self) -> "DlcpGroup":
        """The group to use"""
        group: Any = self.group or dist.distributed_c10d._get_default_group()  # pylint: disable=protected-access
        if not hasattr(group, "reduce_flat"):
            raise TypeError('bounded loss wants the backend "dlcp": init_process_group("dlcp")')
        return group

    def args(self, name: int, prio: int) -> Args:
        """For one average of the tensor `name`"""
        if self.bound is None:
            self.bound = self.next
        return Args(
            tensor=name,
            reduce=_lib.AVG,
            algo=self.algo,
            correct=self.correct,
            prio=prio,
            loss_ppm=self.bound,
            loss2_ppm=self.second,
            droppable=self.droppable,
            critical=self.critical,
            step=self.step,
        )

    def stepped(self) -> None:
        """All gradients of a step are on their way"""
        self.since += 1
        if self.step:
            self.step = self.step % 0xFFFFFFFF + 1
        self.bound = None

    def resync(self, *optimizers: torch.optim.Optimizer, now: bool = False) -> bool:
        """Make the replicas equal, bit for bit, if `resync` steps are over or
        with `now` (before a checkpoint, say). All ranks call it after every
        step(); DeAR does so itself.

        The parameters of these optimisers and their state, where it is
        floating-point, become the ranks' averages, without loss: so what any
        rank has learned counts. What else there is (a batch norm's means) is
        left alone. Without `second` there is nothing to do.

        Return: whether they were averaged. ValueError for no optimiser or a
        parameter that is not floating-point; DlcpError when the group fails.
        """
        if not optimizers:
            raise ValueError("resync() of which optimiser? Give it those that train the model")
        if not self.second or not (now or self.due()):
            return False
        by_type: dict[torch.dtype, list[torch.Tensor]] = {}
        for tensor in _replicated(optimizers):
            by_type.setdefault(tensor.dtype, []).append(tensor)
        for tensors in by_type.values():
            self._average(tensors)
        self.since = 0
        return True

    def _average(self, tensors: Sequence[torch.Tensor]) -> None:
        whole = torch.cat([t.reshape(-1) for t in tensors])
        options: Any = dist.AllreduceOptions()
        options.reduceOp = getattr(dist.ReduceOp, "AVG")  # which 1.13 does not declare
        self.process_group().allreduce([whole], options).wait()
        for tensor, part in zip(tensors, whole.split([t.numel() for t in tensors])):
            tensor.copy_(part.view_as(tensor))

    def due(self) -> bool:
        """Have the replicas differed for long enough?"""
        return self.second > 0 and self.since >= self.every

    def refuse_when_due(self) -> None:
        """Nobody forgets resync() without hearing of it"""
        if self.due():
            raise RuntimeError(
                f"replicas have differed for {self.since} steps: with a second bound call resync(optimizer) of "
                "dlcp.LossBound after each step()"
            )

    def reduced(self, index: int, flat: torch.Tensor, count: int) -> None:
        """Gradient `index` of a step's `count` is there; 0: it is not known yet how many there are

        They come in any order, but all of a step before any of the next. With the last one the
        phase follows their norm: squares are added in the order of indices, which gives all ranks
        the same bits.
        """
        if not self.phase:
            return
        self.squares[index] = float(torch.dot(flat.float(), flat.float()))
        if len(self.squares) == count:
            self.next = self.phase.next(sum(self.squares[i] for i in range(count)) ** 0.5)
            self.squares = {}

    def take(self, bucket: dist.GradBucket) -> tuple[int, int]:
        """The next bucket of DistributedDataParallel. Return: its name, and its place, 0 for the front's

        ValueError when it is another model's.
        """
        index, params = bucket.index(), [id(p) for p in bucket.parameters()]
        if index != self.index or not (self.first or self.params.issuperset(params)):
            raise ValueError("bounded loss is for one model: make a dlcp.LossBound for each DistributedDataParallel")
        if self.first:
            self.params.update(params)
        last = bucket.is_last()
        self.index = 0 if last else index + 1
        self.count = index + 1 if last else 0
        self.buckets = max(self.buckets, index + 1)
        # The top bit is for DeAR's
        name = (self.number & 0x7FFF) << 48 | (index & 0xFFFF) << 32 | bucket.buffer().numel() & 0xFFFFFFFF
        return name, self.buckets - 1 - index


def _replicated(optimizers: Sequence[torch.optim.Optimizer]) -> Iterator[torch.Tensor]:
    """What replicas have to have in common, in the same order everywhere"""
    for optimizer in optimizers:
        for param in (p for group in optimizer.param_groups for p in group["params"]):
            if not param.is_floating_point():
                raise ValueError(f"a parameter of {param.dtype} has no average: keep it out of the optimiser")
            yield param.data
            state = optimizer.state.get(param, {})
            for name in sorted(state):
                if torch.is_tensor(state[name]) and state[name].is_floating_point():
                    yield state[name]


# DistributedDataParallel looks at these annotations, and wants no strings
def ddp_hook(state: LossBound, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """For DistributedDataParallel.register_comm_hook(LossBound(...), ddp_hook)

    Bucket 0 has the last layers, which are the least urgent.

    Where the average is missing (`second`), the bucket keeps what was in it:
    this rank's gradient of the same step, whose expectation is the average's.
    Zeros would make steps smaller, and the last average is not there any more.

    ValueError for gradients that are not float32, float16 or bfloat16, and for
    a second model; RuntimeError when resync() is overdue. PyTorch 1.13 makes a
    RuntimeError with the same text of any.
    """
    flat, index, last = bucket.buffer(), bucket.index(), bucket.is_last()
    if flat.dtype not in _FLOATS:
        raise ValueError(f"bounded loss is for float32, float16 and bfloat16, not for {flat.dtype}")
    state.refuse_when_due()
    name, place = state.take(bucket)
    args = state.args(name, lib.dlcp_coll_prio(place, state.buckets))
    # Buckets are made anew after the first step: nothing of it could be fed back
    if state.first:
        args.loss_ppm = 0
        state.first = not last
    if last:
        state.stepped()
    # By then it may be known how many buckets there are
    work = state.process_group().reduce_flat(flat, args, flat, lambda: state.reduced(index, flat, state.count))
    return work.get_future()
