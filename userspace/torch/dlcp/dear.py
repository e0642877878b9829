# SPDX-License-Identifier: LGPL-2.1-or-later
"""After DeAR (ICDCS'23): the averaging of gradients hides behind the backward
pass, and behind the next forward pass.

Parameters are fused into buffers in forward order: that of modules, and from
the second step on the reverse of that in which rank 0's gradients came in the
first. When all gradients of a buffer are there, and those of the buffers
behind it, its all-reduce begins.
step() waits for none: a forward pre-hook on the modules of a buffer waits for
it and updates the buffer's parameters, just before they are used.

DeAR has the all-gathers wait for the end of the backward pass, since they
would take the links from reduce-scatters. But where one layer has most of the
parameters the links would then have nothing to do until its gradient is
there. All buffers are of one priority class: an all-reduce waits for the
slowest rank, and what one prefers another may still wait for.

With a second bound, what is missing from an average is this rank's gradient of
the same step, as in the hook.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import time
import weakref
from typing import Any, Callable, Iterator

import torch
import torch.distributed as dist

from . import _lib
from ._lib import Args
from .hook import LossBound
from .tensors import bytes_of
from .work import Work

MEGABYTE = 1 << 20
_Param = torch.nn.Parameter


class Tuner:
    """Bayesian optimisation of the fusion threshold: expected improvement
    over a Gaussian process in log2 of megabytes."""

    def __init__(self, start: float = 25.0, low: float = 1.0, high: float = 256.0, trials: int = 10) -> None:
        self.low, self.high, self.trials = math.log2(low), math.log2(high), trials
        self.tried: list[float] = []
        self.cost: list[float] = []
        self.next = math.log2(start)

    def megabytes(self) -> float:
        """To be tried now"""
        return 2.0**self.next

    def tell(self, cost: float) -> bool:
        """What it cost. Return: whether there is another one to try"""
        self.tried.append(self.next)
        self.cost.append(cost)
        if len(self.tried) >= self.trials:
            self.next = self.tried[self.cost.index(min(self.cost))]
            return False
        self.next = self._best()
        return True

    def _kernel(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.exp(-0.5 * ((a[:, None] - b[None, :]) / 1.5) ** 2)

    def _best(self) -> float:
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


class _Hook:
    """Calls a method of a DeAR as long as there is one. What a copied or saved model has of it
    does nothing."""

    def __init__(self, method: Callable[..., None] | None = None, *args: Any) -> None:
        self.method, self.args = method and weakref.WeakMethod(method), args

    def __call__(self, *_: Any) -> None:
        method = self.method and self.method()
        if method:
            method(*self.args)

    def owner(self) -> DeAR | None:
        """The DeAR, if there is one"""
        method: Any = self.method and self.method()
        return method and method.__self__

    def __reduce__(self) -> tuple[type[_Hook], tuple[()]]:
        return _Hook, ()


class _Buffer:
    """Parameters that travel together, in forward order

    seen: of those whose gradients this backward pass has accumulated, the gradient and its version
    work: the all-reduce, while it is under way
    due: the hyperparameters of the update that has still to be made
    """

    def __init__(self) -> None:
        self.params: list[_Param] = []
        self.size = 0
        self.seen: dict[_Param, tuple[torch.Tensor | None, int | None]] = {}
        self.work: Work | None = None
        self.due: list[dict[str, Any]] | None = None

    def takes(self, size: int, limit: float) -> bool:
        """Does a module of so many bytes join those behind it?

        What alone fills a buffer has its own: small layers before it are wanted
        sooner. It takes in small ones behind it, as for them alone the links
        would hardly work while its gradient is computed.
        """
        return self.size <= limit / 4 if size >= limit else self.size < limit

    def add(self, params: list[_Param]) -> None:
        """Those of a module before it"""
        self.params = params + self.params
        self.size += bytes_of(params)

    def close(self, which: int, number: int) -> None:
        """All parameters are known: make the memory. Names differ from those of other DeARs, and
        of the hook, whose top bit is clear"""
        self.flat = torch.zeros(sum(p.numel() for p in self.params))
        self.name = 1 << 63 | which % 2**15 << 48 | number % 2**16 << 32 | len(self.flat) % 2**32

    def slices(self) -> list[tuple[_Param, torch.Tensor]]:
        """(parameter, its part of flat)"""
        parts = self.flat.split([p.numel() for p in self.params])
        return [(param, part.view_as(param)) for param, part in zip(self.params, parts)]

    def fill(self) -> None:
        """Take the gradients; parameters that were not used have none"""
        for param, part in self.slices():
            if param.grad is None:
                part.zero_()
            else:
                part.copy_(param.grad)

    def forget(self) -> None:
        """The gradients"""
        self.seen.clear()
        for param in self.params:
            param.grad = None

    def changed(self) -> bool:
        """Has anybody touched a gradient since it was accumulated?"""
        return any(
            param.grad is not grad or getattr(grad, "_version", None) != version
            for param, (grad, version) in self.seen.items()
        )


class DeAR(torch.optim.Optimizer):
    """An optimiser whose communication overlaps with the next forward pass.

    model: whose parameters are float32, and used by their modules' forward
        passes, in about the same order in each step
    optimizer: for its parameters; it keeps the hyperparameters, which
        schedulers may change, and the state
    loss: None, or a dlcp.LossBound
    fusion: megabytes in a buffer, from the back, after which the one before it
        begins; a module with as much ends one, which has up to a quarter as
        much behind it. None: tuned while training
    trial_steps: steps for which the tuner looks at each value
    group: process group; None: that of `loss`, or the default one
    clip: None, or what clip_grad_norm_() would make of the averages. Updates
        then begin when all averages are there

    Call zero_grad(), backward() and step() as always, and synchronize() before
    the parameters are used otherwise than by a forward pass (copy.deepcopy(),
    say); state_dict() and load_state_dict() of the model and of this do so.
    An update is made with the hyperparameters that step() finds. Schedulers
    take this or `optimizer`.

    TypeError for parameters of another type. ValueError for an optimiser with
    parameters that the model has not, and for two groups. RuntimeError for a
    second backward() before step() or zero_grad(), for a gradient of parameters
    that were used without their last update, as their module's forward pass was
    not called, and from step() for gradients that were changed (clipped) since
    they were accumulated and when other parameters are to be trained than at
    first: make a new DeAR then.
    """

    COUNT = itertools.count()

    def __init__(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        loss: LossBound | None = None,
        fusion: float | None = None,
        trial_steps: int = 10,
        trials: int = 10,
        group: dist.ProcessGroup | None = None,
        clip: float | None = None,
    ) -> None:
        # pylint: disable=super-init-not-called # which would make groups and state of its own
        self.model, self.optimizer = model, optimizer
        self.loss = loss or LossBound(0.0, droppable=0.0)
        self._use(group)
        self.clip = clip
        self.scale: float | None = None
        self.which, self.local = next(self.COUNT), False
        self._refuse_strangers()
        self._relieve()
        self.tuner = None
        if not fusion:
            self.tuner = Tuner(trials=trials)
            fusion = self.tuner.megabytes()
        self.trial_steps, self.steps = trial_steps, 0
        self.began: float | None = None
        self.hooks: list[Any] = []
        self.buffers: list[_Buffer] = []
        self.ready: dict[int, _Buffer] = {}
        # Parameters as their gradients came in the first step, and then of each at what place
        self.arrived: list[_Param] | None = []
        self.came: dict[int, int] = {}
        self._places = {id(p): place for place, group in enumerate(self.param_groups) for p in group["params"]}
        self._trained_at_first: tuple[list[int], list[list[int]]] | None = self._trained()
        self._share_parameters()
        self._fuse(fusion * MEGABYTE)
        self.nodes = [self._watch(param) for param in self._all_params()]
        self.lasting = [handle for _, handle in self.nodes] + [self._before(model, self._whole)]
        for module in model.modules():
            # pylint: disable=protected-access # PyTorch 1.13 has no others
            self.lasting.append(module._register_load_state_dict_pre_hook(_Hook(self.synchronize)))
            # It comes last, but what it finds in a state are the parameters themselves
            self.lasting.append(module._register_state_dict_hook(_Hook(self.synchronize)))

    def _relieve(self) -> None:
        """A DeAR that had these modules before has done its duty"""
        for module in self.model.modules():
            hooks: list[object] = list(module._state_dict_hooks.values())  # pylint: disable=protected-access
            for hook in hooks:
                owner = hook.owner() if isinstance(hook, _Hook) else None
                if owner:
                    owner.close()

    def close(self) -> None:
        """Make the last updates, forget a backward pass without step(), and leave the model alone"""
        self.zero_grad()
        self.synchronize()
        for hook in self.hooks + self.lasting:
            hook.remove()
        self._trained_at_first = None

    def _use(self, group: dist.ProcessGroup | None) -> None:
        if group is not None and self.loss.group not in (None, group):
            raise ValueError("DeAR's group is another than that of its dlcp.LossBound: give both the same one")
        self.loss.group = group or self.loss.group
        self.group = self.loss.process_group()

    # --- what is trained

    def _all_params(self) -> list[_Param]:
        return [p for p in self.model.parameters() if p.requires_grad]

    def _trained(self) -> tuple[list[int], list[list[int]]]:
        return list(map(id, self._all_params())), [list(map(id, group["params"])) for group in self.param_groups]

    def _refuse_strangers(self) -> None:
        of_model = set(map(id, self.model.parameters()))
        if any(id(p) not in of_model for group in self.param_groups for p in group["params"]):
            raise ValueError("the optimiser has parameters that are not the model's: DeAR would never update them. Give it the model's alone")

    def _refuse_changes(self) -> None:
        if self._trained() != self._trained_at_first:
            raise RuntimeError(
                "since this dlcp.DeAR was made parameters were frozen, unfrozen or exchanged, the optimiser got "
                "others, or the model another DeAR: make a new one"
            )
        if any(buffer.changed() for buffer in self.buffers):
            raise RuntimeError(
                "gradients were changed after they were accumulated, when their averaging may have begun: to clip "
                "them use dlcp.DeAR(clip=...)"
            )

    # --- making buffers

    def _share_parameters(self) -> None:
        """Everybody starts with what rank 0 has"""
        for tensor in list(self.model.parameters()) + list(self.model.buffers()):
            self.group.broadcast([tensor.data]).wait()

    def _fuse(self, limit: float) -> None:
        for hook in self.hooks:
            hook.remove()
        self.limit, self.hooks, self.buffers, self.ready = limit, [], [], {}
        users: list[tuple[torch.nn.Module, list[_Param]]] = []
        owners: dict[int, torch.nn.Module] = {}
        for module in self.model.modules():
            # Attention gives its children's parameters to a function, and never calls them
            whole = isinstance(module, torch.nn.MultiheadAttention)
            users.append((module, [p for p in module.parameters(recurse=whole) if p.requires_grad]))
            for param in users[-1][1]:
                owners.setdefault(id(param), module)
        groups = [[p for p in params if owners[id(p)] is module] for module, params in users]
        # From the back: what is left over is for the front, whose all-reduce nothing hides
        for params in sorted(reversed([g for g in groups if g]), key=lambda g: max(self.came.get(id(p), 0) for p in g)):
            self._place(params, limit)
        self.buffers.reverse()
        for number, buffer in enumerate(self.buffers, 1):
            buffer.close(self.which, number)
        # any of a buffer's modules may be the first to run
        for module, params in users:
            for buffer in dict.fromkeys(self.ready[id(p)] for p in params):
                self.hooks.append(self._before(module, self._finish, buffer))
        self.left = len(self.buffers)

    def _before(self, module: torch.nn.Module, method: Callable[..., None], *args: Any) -> Any:
        """Call it before each forward pass of the module, and before the hooks of others, which
        may read the parameters (weight_norm())"""
        handle = module.register_forward_pre_hook(_Hook(method, *args))
        hooks: Any = module._forward_pre_hooks  # pylint: disable=protected-access # an OrderedDict
        hooks.move_to_end(handle.id, last=False)
        return handle

    def _place(self, params: list[_Param], limit: float) -> None:
        if any(p.dtype != torch.float32 for p in params):
            raise TypeError("DeAR wants float32 parameters: call float() of the model, or use DistributedDataParallel")
        if not self.buffers or not self.buffers[-1].takes(bytes_of(params), limit):
            self.buffers.append(_Buffer())
        self.buffers[-1].add(params)
        self.ready.update((id(p), self.buffers[-1]) for p in params)

    def _learn(self) -> None:
        """Modules in the order of the first step: a layer that is defined late but used early
        would keep a whole buffer waiting. Rank 0's, as all must agree; what it did not use is
        put at the front, which waits for all anyway."""
        if self.arrived is None:
            return
        params = self._all_params()
        places = {id(p): place for place, p in enumerate(self.arrived)}
        came = torch.tensor([places.get(id(p), len(params)) for p in params])
        self.group.broadcast([came]).wait()
        self.arrived, self.came = None, {id(p): place for p, place in zip(params, came.tolist())}
        self.synchronize()
        self._fuse(self.limit)

    def _watch(self, param: _Param) -> tuple[Any, Any]:
        """A hook that runs when the gradient is accumulated, by a node that lives no longer than
        who refers to it"""
        view: Any = param.expand_as(param).grad_fn
        node = view.next_functions[0][0]
        return node, node.register_hook(_Hook(self._after, param))

    # --- the backward pass

    def _args(self, buffer: _Buffer) -> Args:
        args = self.loss.args(buffer.name, 0)
        if self.arrived is not None or self.tuner and self.steps >= self.trial_steps:
            args.loss_ppm = 0  # these buffers end with this step: nothing would be fed back
        return args

    def _after(self, param: _Param) -> None:
        buffer = self.ready[id(param)]
        if param in buffer.seen:
            raise RuntimeError("DeAR wants a step() or zero_grad() after each backward(), or no_sync() around it")
        if buffer.due:
            raise RuntimeError(
                "parameters were used before their last update, as DeAR makes it in their module's forward pass, "
                "which was not called: call synchronize() of dlcp.DeAR before you use them"
            )
        if self.local:
            return
        buffer.seen[param] = param.grad, getattr(param.grad, "_version", None)
        if self.arrived is not None:
            self.arrived.append(param)
        self._start()

    def _start(self, last: bool = False) -> None:
        """All-reduce the buffers that are there, from the last one on, as ranks
        must agree on the order. With `last` there is no more to come."""
        while self.left:
            buffer = self.buffers[self.left - 1]
            if len(buffer.seen) < len(buffer.params) and not last:
                return
            if buffer is self.buffers[-1]:
                self._all_arrive()  # so that a phase's bound is the same for all buffers and ranks
            self._finish(buffer)  # this forward pass did without its modules
            buffer.fill()
            buffer.work = self.group.reduce_flat(buffer.flat, self._args(buffer))
            self.left -= 1

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Backward passes in here add to this rank's gradients; what the next one outside makes
        the sum is averaged"""
        before, self.local = self.local, True
        try:
            yield
        finally:
            self.local = before

    def step(self, closure: None = None) -> None:
        """No gradients will come any more. Updates come with the next forward pass"""
        if closure is not None:
            raise TypeError("dlcp.DeAR calls no closure: do what it does, and then step()")
        self._refuse_changes()
        self._start(last=True)
        self.left, self.scale = len(self.buffers), None
        due = copy.deepcopy([{key: x for key, x in group.items() if key != "params"} for group in self.param_groups])
        for buffer in self.buffers:
            buffer.forget()
            buffer.due = due
        self.loss.stepped()
        self._learn()
        self._tune()
        self.resync(now=False)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget gradients, which step() does anyway, and a backward pass for which there shall
        be no step(), as it failed, say. Then all ranks call this: what any has begun is averaged,
        and thrown away."""
        del set_to_none
        begun = any(buffer.seen for buffer in self.buffers)
        for buffer in self.buffers:
            buffer.forget()
        if begun:
            self._start(last=True)
            self._throw_away()

    def _throw_away(self) -> None:
        """What is under way"""
        for buffer in self.buffers:
            work, buffer.work = buffer.work, None
            if work:
                work.wait()
        self.left, self.arrived = len(self.buffers), self.arrived and []

    def resync(self, now: bool = True) -> None:
        """Make the replicas equal, as dlcp.LossBound.resync() does: before a
        checkpoint, say. step() sees to it every `resync` steps."""
        if now or self.loss.due():
            self.synchronize()
            self.loss.resync(self.optimizer, now=True)

    # --- the forward pass

    def _arrive(self, buffer: _Buffer) -> None:
        """Wait for its average, if step() was called"""
        if buffer.due and buffer.work:
            # A failure is one in each further call, too
            buffer.work.wait()
            buffer.work = None
            self.loss.reduced(self.buffers.index(buffer), buffer.flat, len(self.buffers))

    def _all_arrive(self) -> None:
        for buffer in self.buffers:
            self._arrive(buffer)

    def _finish(self, buffer: _Buffer) -> None:
        """`buffer` is needed now"""
        if buffer.due:
            self._arrive(buffer)
            if self.clip is not None:
                buffer.flat.mul_(self._scale())
            self._update(buffer)

    def _scale(self) -> float:
        """What clip_grad_norm_() would multiply gradients by. It waits for nobody but all averages,
        as one rank alone may want its parameters: each finds the same from the same bits"""
        if self.scale is None:
            self._all_arrive()
            norms = [torch.linalg.vector_norm(buffer.flat, dtype=torch.float64) for buffer in self.buffers]
            norm = torch.linalg.vector_norm(torch.stack(norms))
            self.scale = float(torch.clamp(self.clip / (norm + 1e-6), max=1.0))
        return self.scale

    def _whole(self) -> None:
        """Without gradients PyTorch has short cuts past modules' forward passes (of transformers)"""
        if not torch.is_grad_enabled():
            self.synchronize()

    def _update(self, buffer: _Buffer) -> None:
        """The optimiser, for the parameters of one buffer, with the hyperparameters of their step"""
        due, buffer.due = buffer.due or [], None
        now = [dict(group) for group in self.param_groups]
        for group, then in zip(self.param_groups, due):
            group.clear()
            group.update(then, params=[])
        try:
            for param, part in buffer.slices():
                param.grad = part
                if id(param) in self._places:
                    self.param_groups[self._places[id(param)]]["params"].append(param)
            self.optimizer.step()
        finally:
            for group, then, kept in zip(self.param_groups, due, now):
                # An optimiser may count steps there: that stays
                written = {key: x for key, x in group.items() if key != "params" and x is not then.get(key)}
                group.update({**kept, **written})
            for param in buffer.params:
                param.grad = None

    def synchronize(self) -> None:
        """Bring all parameters up to date"""
        for buffer in self.buffers:
            self._finish(buffer)

    # --- tuning

    def _tune(self) -> None:
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
    def param_groups(self) -> list[dict[str, Any]]:
        """The optimiser's"""
        return self.optimizer.param_groups

    @property
    def defaults(self) -> dict[str, Any]:
        """The optimiser's"""
        return self.optimizer.defaults

    @property
    def state(self) -> Any:
        """The optimiser's"""
        return self.optimizer.state

    def state_dict(self) -> dict[str, Any]:
        """The optimiser's, up to date"""
        self.synchronize()
        return self.optimizer.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Into the optimiser"""
        self.synchronize()
        self.optimizer.load_state_dict(state)
