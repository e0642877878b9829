#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The package dlcp under what PyTorch has for models that are larger than a host: parts of the parameters
(FSDP2), stages (pipelining), and experts on different ranks. All of them compute what one process does
that has everything.

See test_torch.py, which has the rest.
"""

import copy
import inspect
import sys

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as differentiable

import test_torch
from test_torch import have_module, perceptron, ranks, run_all

import dlcp  # pylint: disable=wrong-import-order # test_torch knows where

try:
    from torch.distributed import _functional_collectives as functional
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B
except ImportError:  # PyTorch 1.13
    fully_shard = PipelineStage = None

CLASSES = 4


def batches(count):
    """Of all ranks, on each of them"""
    torch.manual_seed(2)
    return [[(torch.randn(12, 20), torch.randint(0, CLASSES, (12,))) for _ in range(count)] for _ in range(4)]


def loss_of(model, batch):
    return torch.nn.functional.cross_entropy(model(batch[0]), batch[1])


def all_by_dlcp():
    """There is no group but those over it, and it carried something"""
    groups = list(dist.distributed_c10d._pg_map)  # pylint: disable=protected-access
    assert all(isinstance(group, dlcp.group.DlcpGroup) for group in groups), groups
    return sum(group.stats()["sent"] for group in groups) > 0


# --- parts of the parameters


def alike(found, wanted):
    """By the same names"""
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert torch.allclose(found[name], value, rtol=1e-4, atol=1e-5), (name, found[name] - value)


def alone(steps):
    """One process with the data of all ranks. Return: its parameters"""
    model = new_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in steps:
        optimizer.zero_grad()
        (sum(loss_of(model, batch) for batch in step) / len(step)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
    return model.state_dict()


def new_model():
    torch.manual_seed(1)
    return perceptron(0)


def sharded(*shape):
    """FSDP2 over a mesh of this shape: with two dimensions each rank of the first has all of the model"""

    def test(rank):
        mesh = init_device_mesh("cpu", shape, mesh_dim_names=("copies", "parts")[-len(shape) :])
        model = new_model()
        for layer in model:
            if isinstance(layer, torch.nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        # A rank has its part of each, and no more
        for parameter in model.parameters():
            assert parameter.to_local().numel() <= -(-parameter.size(0) // shape[-1]) * parameter.stride(0)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        steps = [step[: dist.get_world_size()] for step in batches(4)]
        for step in steps:
            optimizer.zero_grad()
            loss_of(model, step[rank]).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
        whole = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
        if rank == 0:
            alike(whole, alone(steps))
        assert all_by_dlcp()

    return test


# --- stages


def gradients(layer):
    return {name: parameter.grad for name, parameter in layer.named_parameters()}


def staged(schedule, stages_a_rank=1):
    """Each rank has some layers, and its gradients are those of the whole model"""

    def test(rank):
        world = dist.get_world_size()
        count = world * stages_a_rank
        torch.manual_seed(1)
        layers = [torch.nn.Sequential(torch.nn.Linear(20, 20), torch.nn.Tanh()) for _ in range(count)]
        whole = torch.nn.Sequential(*layers)
        mine = [copy.deepcopy(layers[i]) for i in range(rank, count, world)]
        cpu = torch.device("cpu")
        stages = [PipelineStage(layer, rank + i * world, count, cpu) for i, layer in enumerate(mine)]
        mse = torch.nn.functional.mse_loss
        # 2.6 has the sum of the parts' gradients, later ones their mean
        summed = 1 if "scale_grads" in inspect.signature(schedule.__init__).parameters else 2 * world
        pipeline = schedule(stages if stages_a_rank > 1 else stages[0], n_microbatches=2 * world, loss_fn=mse)
        for _ in range(3):
            for layer in mine + layers:
                layer.zero_grad()
            x, y = torch.randn(8 * world, 20), torch.randn(8 * world, 20)
            loss = mse(whole(x), y)
            loss.backward()
            losses = []
            inputs = (x,) if rank == 0 else ()
            if rank == world - 1:
                pipeline.step(*inputs, target=y, losses=losses)
                assert abs(sum(losses) / len(losses) - loss) < 1e-5
            else:
                pipeline.step(*inputs)
            for layer, wanted in zip(mine, layers[rank::world]):
                alike(gradients(layer), {name: summed * grad for name, grad in gradients(wanted).items()})
        assert all_by_dlcp()

    return test


# --- experts


class Experts(torch.nn.Module):
    """Each rank has one, and each row goes to the one that the gate chooses"""

    def __init__(self, gate, expert, exchange):
        super().__init__()
        self.gate, self.expert, self.exchange = gate, expert, exchange

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(1).max(1)
        order = chosen.argsort(stable=True)
        sent = chosen.bincount(minlength=dist.get_world_size())
        got = torch.empty_like(sent)
        dist.all_to_all_single(got, sent)
        sent, got = sent.tolist(), got.tolist()
        there = self.exchange(x[order], got, sent)
        back = self.exchange(self.expert(there), sent, got)
        return back[order.argsort()] * weights[:, None]


def by_nn(x, sizes_out, sizes_in):
    return differentiable.all_to_all_single(x.new_empty(sum(sizes_out), x.size(1)), x, sizes_out, sizes_in)


def by_functional(x, sizes_out, sizes_in):
    return functional.all_to_all_single_autograd(x, sizes_out, sizes_in, dist.group.WORLD)


def experts(exchange):
    """A mixture of them: rows go to other ranks, and their gradients come back"""

    def test(rank):
        world = dist.get_world_size()
        torch.manual_seed(1)
        gate, everybody = torch.nn.Linear(20, world), [torch.nn.Linear(20, 20) for _ in range(world)]
        model = Experts(copy.deepcopy(gate), copy.deepcopy(everybody[rank]), exchange)
        for _ in range(3):
            for r, x in enumerate(torch.randn(world, 30, 20)):
                weights, chosen = gate(x).softmax(1).max(1)
                wanted = torch.stack([everybody[c](row) for c, row in zip(chosen, x)]) * weights[:, None]
                wanted.square().sum().backward()
                if r == rank:
                    mine, right = x, wanted
            found = model(mine)
            assert torch.allclose(found, right, rtol=1e-4, atol=1e-5)
            found.square().sum().backward()
        for parameter in model.gate.parameters():
            dist.all_reduce(parameter.grad)
        for layer, wanted in ((model.gate, gate), (model.expert, everybody[rank])):
            for one, other in zip(layer.parameters(), wanted.parameters()):
                assert torch.allclose(one.grad, other.grad, rtol=1e-4, atol=1e-4), (one.grad, other.grad)
        assert all_by_dlcp()

    return test


TESTS = {"torch_experts": (3, experts(by_nn))}
if fully_shard:
    TESTS.update(
        torch_experts_functional=(3, experts(by_functional)),
        torch_pipeline=(3, staged(ScheduleGPipe)),
        torch_pipeline_1f1b=(3, staged(Schedule1F1B)),
    )
# In 2.6 FSDP2 is for GPUs, and an interleaved pipeline waits for one of two messages
if fully_shard and not torch.__version__.startswith("2.6."):
    TESTS.update(
        torch_fsdp2=(3, sharded(3)),
        torch_fsdp2_copies=(4, sharded(2, 2)),
        torch_pipeline_interleaved=(2, staged(ScheduleInterleaved1F1B, 2)),
    )


def main():
    if not have_module():
        return False
    test_torch.PORT[0] = 30000
    return run_all([(name, lambda w=world, t=test: ranks(w, t) == 0) for name, (world, test) in TESTS.items()])


if __name__ == "__main__":
    sys.exit(main())
