# SPDX-License-Identifier: LGPL-2.1-or-later
"""DeAR (ICDCS'23): an all-reduce is a reduce-scatter that hides behind the
backward pass, and an all-gather that hides behind the next forward pass.

Parameters are fused into buffers in forward order. When the last gradient of
a buffer is there, its reduce-scatter starts. step() waits for all of these and
starts the all-gathers of the first two buffers: the first is more urgent, and
the second has what it leaves of the links. A forward pre-hook on the first
module of a buffer waits for its all-gather, starts the next but one, and
updates the buffer's parameters, just before they are used.

With a second bound, what is missing from an all-gather is the last average: it
is what a buffer still holds.
"""

import math
import time

import torch

from . import _lib
from ._lib import Args, lib
from .hook import Loss

MEGABYTE = 1 << 20


class Tuner:
    """Bayesian optimisation of the fusion threshold: expected improvement
    over a Gaussian process in log2 of megabytes."""

    def __init__(self, start=25.0, low=1.0, high=256.0, trials=10):
        self.low, self.high, self.trials = math.log2(low), math.log2(high), trials
        self.tried, self.cost = [], []
        self.next = math.log2(start)

    def megabytes(self):
        """To be tried now"""
        return 2.0**self.next

    def tell(self, cost):
        """What it cost. Return: whether there is another one to try"""
        self.tried.append(self.next)
        self.cost.append(cost)
        if len(self.tried) >= self.trials:
            self.next = self.tried[self.cost.index(min(self.cost))]
            return False
        self.next = self._best()
        return True

    def _kernel(self, a, b):
        return torch.exp(-0.5 * ((a[:, None] - b[None, :]) / 1.5) ** 2)

    def _best(self):
        x, y = torch.tensor(self.tried).double(), torch.tensor(self.cost).double()
        spread = y.std() if len(y) > 1 and y.std() > 0 else y.abs().max().clamp(min=1e-9) * 0.1
        y = (y - y.mean()) / spread
        grid = torch.linspace(self.low, self.high, 65).double()
        inverse = torch.linalg.inv(self._kernel(x, x) + 1e-3 * torch.eye(len(x)).double())
        cross = self._kernel(grid, x)
        mean = cross @ inverse @ y
        deviation = (1 - (cross @ inverse * cross).sum(1)).clamp(min=1e-9).sqrt()
        gain = (y.min() - mean) / deviation
        normal = torch.distributions.Normal(0.0, 1.0)
        better = deviation * (gain * normal.cdf(gain) + normal.log_prob(gain).exp())
        return float(grid[better.argmax()])


class _Buffer:
    """Parameters that travel together, in forward order"""

    def __init__(self, index, group):
        self.index, self.group = index, group
        self.modules, self.params = [], []
        self.due = 0
        self.scatter = self.gather = None
        self.gathered = False

    def add(self, module, params):
        """Parameters that `module` is the first to use"""
        self.modules.append(module)
        self.params += params

    def bytes(self):
        """of gradients"""
        return sum(p.numel() * 4 for p in self.params)

    def close(self):
        """All parameters are known: make the buffers"""
        size = self.group.size()
        self.count = sum(p.numel() for p in self.params)
        self.part = (self.count + size - 1) // size
        self.flat = torch.zeros(self.part * size)
        self.mine = torch.zeros(self.part)
        self.arrived = torch.zeros(self.part * size)
        self.due = len(self.params)
        self.seen = set()

    def slices(self, flat):
        """(parameter, its part of flat)"""
        at = 0
        for param in self.params:
            yield param, flat[at : at + param.numel()].view_as(param)
            at += param.numel()


class DeAR:
    """An optimiser whose communication overlaps with the next forward pass.

    model: whose parameters are float32 and used in the order of its modules
    optimizer: for its parameters; it keeps the hyperparameters, which
        schedulers may change, and the state
    loss: None, or a dlcp.Loss: for the reduce-scatters, its `second` for the
        all-gathers
    fusion: megabytes in a buffer, after which the next one begins; modules with
        as much have their own. None: tuned while training
    trial_steps: steps for which the tuner looks at each value

    Call zero_grad(), backward() and step() as always, and synchronize() before
    the parameters are used otherwise than by a forward pass (state_dict(), say).
    """

    def __init__(self, model, optimizer, loss=None, fusion=None, trial_steps=10, trials=10, group=None):
        self.model, self.optimizer = model, optimizer
        self.loss = loss or Loss(0.0, droppable=0.0, group=group)
        self.group = self.loss.process_group()
        self.tuner = None if fusion else Tuner(trials=trials)
        self.trial_steps, self.steps, self.began = trial_steps, 0, None
        self.hooks, self.buffers, self.ready = [], [], {}
        self._places = {
            id(p): (g, i) for g, group in enumerate(optimizer.param_groups) for i, p in enumerate(group["params"])
        }
        self._share_parameters()
        self._fuse((fusion or self.tuner.megabytes()) * MEGABYTE)
        for param in self._all_params():
            self._watch(param)

    # --- making buffers

    def _all_params(self):
        return [p for p in self.model.parameters() if p.requires_grad]

    def _share_parameters(self):
        """Everybody starts with what rank 0 has"""
        for tensor in list(self.model.parameters()) + list(self.model.buffers()):
            self.group.broadcast([tensor.data]).wait()

    def _fuse(self, limit):
        for hook in self.hooks:
            hook.remove()
        self.hooks, self.buffers, self.ready, seen = [], [], {}, set()
        for module in self.model.modules():
            params = [p for p in module.parameters(recurse=False) if p.requires_grad and id(p) not in seen]
            seen.update(id(p) for p in params)
            if not params:
                continue
            if any(p.dtype != torch.float32 for p in params):
                raise TypeError("DeAR wants float32 parameters")
            # What alone fills a buffer has its own: small layers before it are wanted sooner
            size = 4 * sum(p.numel() for p in params)
            if not self.buffers or max(size, self.buffers[-1].bytes()) >= limit:
                self.buffers.append(_Buffer(len(self.buffers), self.group))
            self.buffers[-1].add(module, params)
        for buffer in self.buffers:
            buffer.close()
            self.ready.update((id(p), buffer) for p in buffer.params)
            # any of its modules may be the first to run
            for module in buffer.modules:
                self.hooks.append(module.register_forward_pre_hook(lambda _m, _i, b=buffer: self._before(b)))

    def _watch(self, param):
        """A hook that runs when the gradient is accumulated"""
        if hasattr(param, "register_post_accumulate_grad_hook"):
            param.register_post_accumulate_grad_hook(self._after)
            return
        node = param.expand_as(param).grad_fn.next_functions[0][0]
        node.register_hook(lambda *_: self._after(param))
        # it lives no longer than who refers to it
        param.dlcp_node = node

    # --- the backward pass

    def _args(self, buffer, gather=False):
        prio = lib.dlcp_coll_prio(buffer.index, len(self.buffers))
        if gather:  # a new buffer has no old values
            return Args(prio=prio, loss2_ppm=self.loss.second if buffer.gathered else 0)
        args = self.loss.args((buffer.index + 1) << 40 | buffer.count, prio)
        if self.tuner and self.steps >= self.trial_steps:
            args.loss_ppm = 0  # these buffers end with this step: nothing would be fed back
        return args

    def _after(self, param):
        buffer = self.ready[id(param)]
        if id(param) in buffer.seen:
            raise RuntimeError("DeAR wants a step() after each backward()")
        buffer.seen.add(id(param))
        if len(buffer.seen) == buffer.due:
            self._scatter(buffer)

    def _scatter(self, buffer):
        for param, part in buffer.slices(buffer.flat):
            if param.grad is None:
                part.zero_()
            else:
                part.copy_(param.grad)
        buffer.scatter = self.group.scatter_flat(buffer.flat, buffer.mine, self._args(buffer))

    # --- between

    def step(self):
        """Wait for the reduce-scatters; updates come with the next forward pass"""
        for buffer in reversed(self.buffers):
            if buffer.scatter is None:  # parameters that were not used have no gradient
                self._scatter(buffer)
        for buffer in self.buffers:
            buffer.scatter.wait()
            buffer.scatter = None
            buffer.seen.clear()
        for param in self._all_params():
            param.grad = None
        self._start_gather(0)
        self._start_gather(1)
        self.loss.stepped()
        self._tune()
        self.resync(now=False)

    def resync(self, now=True):
        """Make the replicas equal, as dlcp.Loss.resync() does: before a
        checkpoint, say. step() sees to it every `resync` steps."""
        if now or self.loss.due():
            self.synchronize()
            self.loss.resync(self.optimizer, now=True)

    def zero_grad(self, set_to_none=True):
        """Gradients are forgotten by step() anyway"""
        del set_to_none

    def _start_gather(self, index):
        if index < len(self.buffers):
            buffer = self.buffers[index]
            buffer.gather = self.group.gather_flat(buffer.mine, buffer.arrived, self._args(buffer, True))
            buffer.gathered = True

    # --- the forward pass

    def _before(self, buffer):
        """`buffer` is needed now, and so is all before it"""
        for earlier in self.buffers[: buffer.index + 1]:
            if earlier.gather is not None:
                work, earlier.gather = earlier.gather, None
                work.wait()
                self._start_gather(earlier.index + 2)
                self._update(earlier)

    def _update(self, buffer):
        """The optimiser, for the parameters of one buffer"""
        kept = [group["params"] for group in self.optimizer.param_groups]
        for group in self.optimizer.param_groups:
            group["params"] = []
        try:
            for param, part in buffer.slices(buffer.arrived):
                param.grad = part
                if id(param) in self._places:
                    self.optimizer.param_groups[self._places[id(param)][0]]["params"].append(param)
            self.optimizer.step()
        finally:
            for group, params in zip(self.optimizer.param_groups, kept):
                group["params"] = params
            for param in buffer.params:
                param.grad = None
        self.loss.reduced(buffer.arrived[: buffer.count], buffer is self.buffers[-1])

    def synchronize(self):
        """Bring all parameters up to date"""
        if self.buffers:
            self._before(self.buffers[-1])

    # --- tuning

    def _tune(self):
        if not self.tuner:
            return
        now = time.monotonic()
        self.steps += 1
        if self.steps == 1 or self.began is None:
            self.began = now  # the first step after a change does not count
            return
        if self.steps <= self.trial_steps:
            return
        self.synchronize()
        cost = torch.tensor([(now - self.began) / (self.steps - 1)])
        # The slowest rank counts, and all come to the same conclusion
        self.group.reduce_flat(cost, Args(reduce=_lib.MAX)).wait()
        more = self.tuner.tell(float(cost))
        self._fuse(self.tuner.megabytes() * MEGABYTE)
        self.steps, self.began = 0, None
        if not more:
            self.tuner = None

    # --- as an optimiser

    @property
    def param_groups(self):
        """The optimiser's"""
        return self.optimizer.param_groups

    def state_dict(self):
        """The optimiser's, up to date"""
        self.synchronize()
        return self.optimizer.state_dict()

    def load_state_dict(self, state):
        """Into the optimiser"""
        self.synchronize()
        self.optimizer.load_state_dict(state)
