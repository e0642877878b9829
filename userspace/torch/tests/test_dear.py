#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""dlcp.DeAR as the optimiser of models and scripts of all sorts: what it does is what the optimiser
does that it has, or an error. With the kernel module, as test_torch.py, whose helpers it uses."""

import sys

import torch
from test_torch import (
    PORT, as_by_ddp, have_module, lossy_link, missing, model_and_data, perceptron, ranks, run_all, sgd,
)  # fmt: skip
from torch.nn.utils import spectral_norm, weight_norm

import dlcp


def backward(model, x, y):
    torch.nn.functional.cross_entropy(model(x), y).backward()


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
        model, loss = Parallel(), dlcp.Loss(0.1, correct=correct)
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
