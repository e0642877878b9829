#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A script that knows nothing of DLCP: collectives, messages and DDP over Gloo.

Every rank prints what its parameters are in the end, as a hash.
"""

import hashlib
import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def collectives(rank, world):
    total = world * (world - 1) // 2
    for dtype in (torch.float32, torch.float16, torch.int64):
        for count in (1, 5, 300000):
            x = torch.full((count,), rank).to(dtype)
            dist.all_reduce(x)
            assert (x == total).all()
    x = torch.arange(5) * (rank == 1)
    dist.broadcast(x, src=1)
    assert x.tolist() == [0, 1, 2, 3, 4]
    parts = [torch.zeros(3) for _ in range(world)]
    dist.all_gather(parts, torch.full((3,), float(rank)))
    assert [p[0].item() for p in parts] == list(range(world))
    got = [torch.zeros(2) for _ in range(world)] if rank == 0 else None
    dist.gather(torch.full((2,), float(rank)), got, dst=0)
    assert rank or [g[1].item() for g in got] == list(range(world))
    works = [dist.all_reduce(torch.ones(1000 + i), async_op=True) for i in range(20)]
    for work in reversed(works):
        work.wait()
    dist.barrier()


def messages(rank, world):
    for count in (3, 200000):
        dist.barrier()
        if rank:
            dist.send(torch.full((count,), float(rank)), 0, tag=7)
            continue
        senders = set()
        for _ in range(1, world):
            x = torch.zeros(count)
            senders.add(dist.recv(x, tag=7))  # from whoever comes
            assert (x == x[0]).all()
        assert senders == set(range(1, world))


def train(rank):
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(20, 300), torch.nn.ReLU(), torch.nn.Linear(300, 300), torch.nn.ReLU(), torch.nn.Linear(300, 4))
    model = DistributedDataParallel(model, bucket_cap_mb=0.2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    torch.manual_seed(10 + rank)
    for _ in range(8):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(torch.randn(16, 20)), torch.randint(0, 4, (16,)))
        loss.backward()
        optimizer.step()
    return torch.cat([p.detach().view(-1) for p in model.parameters()])


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    rank, world = dist.get_rank(), dist.get_world_size()
    collectives(rank, world)
    messages(rank, world)
    params = train(rank)
    print("params", hashlib.sha256(params.numpy().tobytes()).hexdigest(), flush=True)
    if os.environ.get("KILL") == str(rank):
        os.kill(os.getpid(), 9)
    while "KILL" in os.environ:
        dist.all_reduce(torch.ones(100000))


if __name__ == "__main__":
    main()
