#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""dlcp.DeAR as the optimiser of models and scripts of all sorts: what it does is what the optimiser
does that it has, or an error. With the kernel module, as test_torch.py, whose helpers it uses."""

import copy
import io
import sys

import torch
import torch.distributed as dist
from test_torch import (
    PORT, Sometimes, as_by_ddp, dear, have_module, lossy_link, missing, model_and_data, perceptron, ranks, run_all, sgd,
)  # fmt: skip
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_, spectral_norm, weight_norm

import dlcp


def values(model):
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


def same(left, right):
    assert torch.allclose(left, right, rtol=1e-4, atol=1e-5), (left - right).abs().max()


def raises(kind, text, call, *args, **options):
    try:
        call(*args, **options)
    except kind as error:
        assert text in str(error), error
    else:
        assert False, f"no {kind.__name__}"


def backward(model, x, y):
    torch.nn.functional.cross_entropy(model(x), y).backward()


def learn(model, data, optimizer, before_step=None, after_step=None):
    """Ordinary training. Return: parameters"""
    for step, (x, y) in enumerate(data):
        optimizer.zero_grad()
        backward(model, x, y)
        if before_step:
            before_step()
        optimizer.step()
        if after_step:
            after_step(step)
    if isinstance(optimizer, dlcp.DeAR):
        optimizer.synchronize()
    return values(model)


def both(rank, make=perceptron, optimizer=sgd, **options):
    """The same model twice, with DDP and with DeAR: (model, data, optimiser) of each"""
    model, data = model_and_data(rank, make)
    yield DistributedDataParallel(model), data, optimizer(model)
    model, data = model_and_data(rank, make)
    yield model, data, dlcp.DeAR(model, optimizer(model), **{"fusion": 0.2, **options})


# --- what else there is in a model


def normed(kind):
    def make(_rank):
        return torch.nn.Sequential(kind(torch.nn.Linear(20, 30)), torch.nn.ReLU(), kind(torch.nn.Linear(30, 4)))

    return make


def hook_before(rank):
    """Who looks before a layer runs sees the parameters with which it runs, also if he came before DeAR"""
    seen = []
    model, data = model_and_data(rank)
    model[0].register_forward_pre_hook(lambda layer, _: seen.append(layer.weight.detach().clone()))
    optimizer = dlcp.DeAR(model, sgd(model), fusion=0.2)
    for x, y in data[:3]:
        backward(model, x, y)
        used = model[0].weight.detach().clone()
        optimizer.step()
        assert torch.equal(seen[-1], used)
    assert not torch.equal(seen[0], seen[1])


class Tied(torch.nn.Module):
    """Two layers have one matrix"""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = (torch.nn.Linear(*size) for size in ((20, 20), (20, 20), (20, 4)))
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.last(self.second(self.first(x).relu()))


def half_frozen(_rank):
    model = perceptron(0)
    for param in model[2].parameters():
        param.requires_grad_(False)
    return model


# --- hyperparameters


def schedule(of_dear):
    """Rates and momenta are those of the step, though its updates come later"""

    def test(rank):
        found = []
        for model, data, optimizer in both(rank):
            inner = getattr(optimizer, "optimizer", optimizer)
            rate = torch.optim.lr_scheduler.StepLR(optimizer if of_dear else inner, 2, gamma=0.3)

            def after(step, inner=inner, rate=rate):
                rate.step()
                if step == 4:
                    inner.param_groups[0]["momentum"] = 0.1

            found.append(learn(model, data, optimizer, after_step=after))
            assert abs(inner.param_groups[0]["lr"] - 0.1 * 0.3**4) < 1e-9
        same(*found)

    return test


class Counting(torch.optim.SGD):
    """Keeps in its groups how many steps it has made, and makes smaller and smaller ones"""

    def __init__(self, model):
        super().__init__(model.parameters(), lr=0.1)

    def step(self, closure=None):
        for group in self.param_groups:
            group["count"] = group.get("count", 0) + 1
            for param in group["params"]:
                param.data.add_(param.grad, alpha=-group["lr"] / group["count"])


def counting(rank):
    """What an optimiser writes into its groups stays there, once for each step"""
    found = []
    for model, data, optimizer in both(rank, optimizer=Counting):
        found.append(learn(model, data, optimizer))
        assert optimizer.param_groups[0]["count"] == len(data)
    same(*found)


# --- gradients that somebody changes


def clipped(rank):
    (model, data, optimizer), (of_dear, _, by_dear) = both(rank, clip=0.7)
    norms = []
    wanted = learn(
        model, data, optimizer, before_step=lambda: norms.append(float(clip_grad_norm_(model.parameters(), 0.7)))
    )
    assert max(norms) > 0.7 > min(norms), norms
    found = learn(of_dear, data, by_dear)
    same(found, wanted)
    first = found.clone()
    dist.broadcast(first, src=0)
    assert torch.equal(first, found)


def clipped_by_hand(rank):
    """... gradients that are on their way, or would be averaged although they have been clipped"""
    for make in (perceptron, Sometimes):
        model, data = model_and_data(rank, make)
        optimizer = dlcp.DeAR(model, sgd(model), fusion=1e-6)
        optimizer.step()
        backward(model, *data[0])
        clip_grad_norm_(model.parameters(), 1e-3)
        raises(RuntimeError, "to clip them use dlcp.DeAR(clip=", optimizer.step)
        optimizer.zero_grad()
        backward(model, *data[0])
        optimizer.step()


def changed_by_hook(rank):
    """A hook that comes after DeAR's has changed what DeAR has sent"""
    model, data = model_and_data(rank)
    optimizer = dlcp.DeAR(model, sgd(model), fusion=0.2)
    weight = model[4].weight
    node = weight.expand_as(weight).grad_fn.next_functions[0][0]

    def double(*_):
        weight.grad.mul_(2)

    handle = node.register_hook(double)
    backward(model, *data[0])
    raises(RuntimeError, "changed", optimizer.step)
    handle.remove()
    optimizer.zero_grad()
    learn(model, data, optimizer)


# --- what is trained


def strangers(_rank):
    """Parameters that would never be updated, and groups of which one would be ignored"""
    model, other = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
    params = list(model.parameters()) + list(other.parameters())
    doubles = torch.nn.Linear(3, 3).double()
    raises(TypeError, "DeAR wants float32 parameters: call float()", dlcp.DeAR, doubles, sgd(doubles))
    raises(ValueError, "not the model's", dlcp.DeAR, model, torch.optim.SGD(params, lr=1))
    one, two = dist.new_group([0, 1]), dist.new_group([0, 1])
    raises(
        ValueError,
        "group is another than that of",
        dlcp.DeAR,
        model,
        sgd(model),
        loss=dlcp.LossBound(0.1, group=one),
        group=two,
    )
    assert dlcp.DeAR(model, sgd(model), loss=dlcp.LossBound(0.1), group=two).group is two
    assert dlcp.DeAR(model, sgd(model), loss=dlcp.LossBound(0.1, group=one), group=one).group is one


def freeze(model, frozen):
    for param in model[2].parameters():
        param.requires_grad_(not frozen)


def refrozen(frozen, model, optimizer, data):
    """A step, and then others are trained. Return: what is to be called, and the optimiser"""
    optimizer.zero_grad()
    backward(model, *data[0])
    optimizer.step()
    if isinstance(model, DistributedDataParallel):
        freeze(model.module, frozen)
        optimizer.zero_grad(set_to_none=True)
        return DistributedDataParallel(model.module), optimizer
    model[0](data[0][0])  # some updates are made, others are not
    freeze(model, frozen)
    backward(model, *data[1])
    raises(RuntimeError, "make a new one", optimizer.step)
    newer = dlcp.DeAR(model, optimizer.optimizer, fusion=0.2)
    raises(RuntimeError, "make a new one", optimizer.step)
    KEPT.append(optimizer)  # as a scheduler may: the newer one has the model nevertheless
    return model, newer


KEPT = []


def other_parameters(rank):
    """Who freezes some hears that he needs a new DeAR, with which training goes on as it does without"""
    found = []
    for model, data, optimizer in both(rank):
        for frozen in (True, False):
            model, optimizer = refrozen(frozen, model, optimizer, data)
        found.append(learn(model, data, optimizer))
    same(*found)
    model, optimizer = dear(fusion=1)(torch.nn.Linear(20, 4))
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(3))]})
    raises(RuntimeError, "make a new one", optimizer.step)


def closed(rank):
    """What DeAR has left alone is trained as if it had never been there"""
    found = []
    for model, data, optimizer in both(rank):
        learn(model, data, optimizer)
        if isinstance(optimizer, dlcp.DeAR):
            optimizer.close()
            model, optimizer = DistributedDataParallel(model), optimizer.optimizer
        found.append(learn(model, data, optimizer))
    same(*found)


# --- copies, and what is saved


def copies(rank):
    """A copy of a model is an ordinary model, and has nothing to do with DeAR's"""
    model, data = model_and_data(rank)
    wanted = learn(model, data, dlcp.DeAR(model, sgd(model), fusion=0.2))
    model, data = model_and_data(rank)
    optimizer = dlcp.DeAR(model, sgd(model), fusion=0.2)
    learn(model, data[:4], optimizer)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    for other in (copy.deepcopy(model), torch.load(file, weights_only=False)):
        assert torch.equal(values(other), values(model))
        before = values(model)
        mine = sgd(other)
        learn(other, data, mine)
        other.load_state_dict(other.state_dict())
        assert torch.equal(values(model), before) and not torch.equal(values(other), before)
    assert torch.equal(learn(model, data[4:], optimizer), wanted)


def load(model, optimizer, state):
    model.load_state_dict(state[0])
    optimizer.load_state_dict(state[1])


def adam(model):
    return torch.optim.Adam(model.parameters(), lr=0.01)


def checkpoint(rank):
    """Training that goes on from what was saved, on rank 0 alone, is as training that was never interrupted"""
    model, data = model_and_data(rank)
    wanted = learn(model, data, dlcp.DeAR(model, adam(model), fusion=0.2))
    model, data = model_and_data(rank)
    optimizer = dlcp.DeAR(model, adam(model), fusion=0.2)
    path = f"/tmp/dlcp-dear-{PORT[0]}"
    for x, y in data[:4]:
        backward(model, x, y)
        optimizer.step()
    if rank == 0:
        torch.save((model.state_dict(), optimizer.state_dict()), path)
        assert torch.equal(model.state_dict()["0.weight"], model[0].weight)
    dist.barrier()
    for x, y in data[:2]:  # which shall be without effect
        backward(model, x, y)
        optimizer.step()
    load(model, optimizer, torch.load(path))
    same(learn(model, data[4:], optimizer), wanted)
    torch.manual_seed(100)
    model = perceptron(rank)
    optimizer = dlcp.DeAR(model, adam(model), fusion=0.2)
    load(model, optimizer, torch.load(path))
    same(learn(model, data[4:], optimizer), wanted)


def saved_and_loaded(rank):
    """state_dict() has the last update, of a part of the model, too; what is loaded has none"""
    model, data = model_and_data(rank)
    optimizer = dlcp.DeAR(model, sgd(model), fusion=0.2)
    start = copy.deepcopy(model.state_dict())
    for saved in (model.state_dict, model[0].state_dict):
        backward(model, *data[0])
        before = values(model)
        optimizer.step()
        state = saved()
        weight = state.get("weight", state.get("0.weight")).clone()
        optimizer.synchronize()
        assert torch.equal(weight, model[0].weight) and not torch.equal(values(model), before)
        backward(model, *data[0])
        optimizer.step()
        model.load_state_dict(start)
        assert torch.equal(values(model), values_of(start))
        optimizer.synchronize()
        assert torch.equal(values(model), values_of(start))
    if rank == 0:  # alone
        model.state_dict()


def values_of(state):
    return torch.cat([tensor.reshape(-1) for tensor in state.values()])


# --- backward passes without a step, and steps with several


class Failure(Exception):
    pass


def fail(*_):
    raise Failure


def thrown_away(make, *layers):
    """A pass that fails, on each rank in another layer, and one whose gradients nobody wants, are as if they had not been"""

    def test(rank):
        model, data = model_and_data(rank, make)
        wanted = learn(model, data, dlcp.DeAR(model, sgd(model), fusion=1e-6))
        model, data = model_and_data(rank, make)
        optimizer = dlcp.DeAR(model, sgd(model), fusion=1e-6, loss=dlcp.LossBound(0.0))
        for x, y in data:
            fails = list(model.children())[layers[rank]].weight.register_hook(fail)
            raises(Failure, "", backward, model, x, y)
            fails.remove()
            optimizer.zero_grad()
            (model(x).sum() * float("nan")).backward()
            optimizer.zero_grad()
            backward(model, x, y)
            optimizer.step()
        optimizer.synchronize()
        same(values(model), wanted)

    return test


def second_backward(rank):
    model, data = model_and_data(rank)
    optimizer = dlcp.DeAR(model, sgd(model), fusion=0.2)
    backward(model, *data[0])
    raises(RuntimeError, "a step() or zero_grad() after each backward()", backward, model, *data[1])
    optimizer.zero_grad()
    learn(model, data, optimizer)
    raises(TypeError, "closure", optimizer.step, lambda: 0)


def looked_at_between(rank):
    """What looks at parameters between backward() and step() makes no update"""
    model, data = model_and_data(rank)
    optimizer = dlcp.DeAR(model, sgd(model), fusion=0.2)

    def look():
        before = values(model)
        model.state_dict()
        model(data[0][0])
        optimizer.synchronize()
        assert torch.equal(values(model), before)

    found = learn(model, data, optimizer, before_step=look)
    model, data = model_and_data(rank)
    same(found, learn(DistributedDataParallel(model), data, sgd(model)))


def accumulated(rank):
    """Gradients of three passes are averaged once"""
    found = []
    for model, data, optimizer in both(rank, fusion=100):
        of_dear = isinstance(optimizer, dlcp.DeAR)
        before = of_dear and optimizer.group.stats()["ops"]
        for at in (0, 4):
            optimizer.zero_grad()
            with (optimizer if of_dear else model).no_sync():
                backward(model, *data[at])
                backward(model, *data[at + 1])
            backward(model, *data[at + 2])
            optimizer.step()
        if of_dear:
            optimizer.synchronize()
            assert optimizer.group.stats()["ops"] - before == 3  # one says the order of the first step
        found.append(values(model))
    same(*found)


# --- several


def two_in_one_pass(rank):
    """Two models of one shape, which lose what they may, each with a DeAR of its own"""
    models = [model_and_data(rank)[0] for _ in range(2)]
    data = model_and_data(rank)[1]
    wanted = learn(models[0], data, dlcp.DeAR(models[0], sgd(models[0]), fusion=0.2))
    models[0] = model_and_data(rank)[0]
    optimizers = [dlcp.DeAR(model, sgd(model), fusion=0.2, loss=dlcp.LossBound(0.1)) for model in models]
    names = [buffer.name for optimizer in optimizers for buffer in optimizer.buffers]
    assert len(set(names)) == len(names) and all(name >> 63 == 1 for name in names)
    for x, y in data:
        sum(torch.nn.functional.cross_entropy(model(x), y) for model in models).backward()
        for optimizer in optimizers:
            optimizer.step()
    for model, optimizer in zip(models, optimizers):
        optimizer.synchronize()
        same(values(model), wanted)


class Asked(dlcp.LossBound):
    """Remembers the bounds it gave"""

    def __init__(self):
        super().__init__(dlcp.Phase(0.001, 0.1, threshold=1e9, hold=1))
        self.given = [[]]

    def args(self, name, prio):
        given = super().args(name, prio)
        self.given[-1].append(given)
        return given


def one_bound(rank):
    """A step has one bound for all buffers of all ranks, though they do not use the same modules"""
    model, data = model_and_data(rank, Sometimes)
    loss = Asked()
    optimizer = dlcp.DeAR(model, sgd(model), fusion=1e-6, loss=loss)
    learn(model, data, optimizer, after_step=lambda _: loss.given.append([]))
    bounds = torch.tensor([[args.loss_ppm for args in step] for step in loss.given[:-1]])
    assert (bounds == bounds[:, :1]).all() and len(bounds[1:].unique()) == 2, bounds
    first = bounds.clone()
    dist.broadcast(first, src=0)
    assert torch.equal(first, bounds)


# --- loss


class Parallel(torch.nn.Module):
    """Gradients are the sums of its inputs, whatever the parameters"""

    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleList(torch.nn.Linear(20, 4000, bias=False) for _ in range(3))

    def forward(self, x):
        return sum(part(x).sum() for part in self.parts)


def lossy(correct):
    """What is lost of gradients is made up for, exactly: what comes out are whole numbers"""

    def test(rank):
        torch.manual_seed(1)
        model, loss = Parallel(), dlcp.LossBound(0.1, correct=correct)
        for param in model.parameters():
            param.data.zero_()
        optimizer = dlcp.DeAR(model, torch.optim.SGD(model.parameters(), lr=1.0), fusion=0.3, loss=loss)
        steps = [torch.randint(-8, 8, (2, 20)).float() for _ in range(8)]
        lossy_link(10)
        for at, x in enumerate(steps):
            if at == len(steps) - 1:
                loss.bound = 0  # this step has what was lost of the others
            model(x[0 if correct == "average" else rank]).backward()
            optimizer.step()
        optimizer.synchronize()
        lossy_link(0)
        lost, total = missing(), sum(x[0] if correct == "average" else x.mean(0) for x in steps)
        wrong = sum(int((param + total != 0).sum()) for param in model.parameters())
        if rank == 0:
            print(f"# {correct}: {lost} bytes missing, {wrong} elements wrong")
        assert lost and bool(wrong) == (correct == "nothing")

    return test


TESTS = [
    ("torch_dear_weight_norm", 2, as_by_ddp(normed(weight_norm))),
    ("torch_dear_spectral_norm", 2, as_by_ddp(normed(spectral_norm))),
    ("torch_dear_hook_before", 1, hook_before),
    ("torch_dear_tied", 2, as_by_ddp(lambda rank: Tied())),
    ("torch_dear_frozen", 2, as_by_ddp(half_frozen)),
    ("torch_dear_schedule", 2, schedule(True)),
    ("torch_dear_schedule_of_inner", 2, schedule(False)),
    ("torch_dear_counting", 2, counting),
    ("torch_dear_clipped", 2, clipped),
    ("torch_dear_clipped_by_hand", 2, clipped_by_hand),
    ("torch_dear_changed_by_hook", 2, changed_by_hook),
    ("torch_dear_strangers", 2, strangers),
    ("torch_dear_other_parameters", 2, other_parameters),
    ("torch_dear_closed", 2, closed),
    ("torch_dear_copies", 2, copies),
    ("torch_dear_checkpoint", 2, checkpoint),
    ("torch_dear_saved_and_loaded", 2, saved_and_loaded),
    ("torch_dear_thrown_away", 2, thrown_away(perceptron, 0, 2)),
    ("torch_dear_thrown_away_sometimes", 2, thrown_away(Sometimes, 0, 0)),
    ("torch_dear_second_backward", 2, second_backward),
    ("torch_dear_looked_at_between", 2, looked_at_between),
    ("torch_dear_accumulated", 2, accumulated),
    ("torch_dear_two", 2, two_in_one_pass),
    ("torch_dear_one_bound", 2, one_bound),
    ("torch_dear_lossy_feedback", 2, lossy("feedback")),
    ("torch_dear_lossy_average", 2, lossy("average")),
    ("torch_dear_lossy_nothing", 2, lossy("nothing")),
]


def main():
    if not have_module():
        print("skip torch-dear: the running kernel has no DLCP")
        return False
    PORT[0] += 100  # test_torch.py has had those before
    return run_all((name, lambda w=world, t=test: ranks(w, t) == 0) for name, world, test in TESTS)


if __name__ == "__main__":
    sys.exit(main())
