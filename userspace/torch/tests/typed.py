# SPDX-License-Identifier: GPL-2.0
"""A user's program as mypy sees it, beside the installed package: scripts/check types. Lines that end
with the word are wrong, and each is refused; the others are right, and none is. Nobody runs it."""

import datetime
from typing import Callable

import torch
import torch.distributed as dist

import dlcp

model = torch.nn.Linear(2, 2)
sgd = torch.optim.SGD(model.parameters(), lr=0.1)
bound = dlcp.LossBound(0.01, correct="average", second=0.01, resync=100)
dlcp.LossBound(dlcp.Phase(0.0, 0.02, hold=5), algo="server", group=dist.group.WORLD)
dlcp.LossBound("0.01")  # refused
dlcp.LossBound(0.01, correct="averages")  # refused
dlcp.LossBound(0.01, algo="star")  # refused
dlcp.LossBound(0.01, resync=1.5)  # refused
dlcp.LossBound(0.01, losses=2)  # refused
dlcp.Phase("low", 0.02)  # refused
averaged: bool = bound.resync(sgd, now=True)
bound.resync(model)  # refused

# What register_comm_hook() wants
Hook = Callable[[dlcp.LossBound, dist.GradBucket], torch.futures.Future[torch.Tensor]]
given: Hook = dlcp.ddp_hook


def hook(state: dlcp.LossBound, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """One around ours"""
    dlcp.ddp_hook(0.01, bucket)  # refused
    return dlcp.ddp_hook(state, bucket)


optimizer = dlcp.DeAR(model, sgd, loss=bound, fusion=25, clip=1.0)
with optimizer.no_sync():
    optimizer.zero_grad()
optimizer.step()
optimizer.step(lambda: 0.1)  # refused
dlcp.DeAR(sgd, model)  # refused
dlcp.DeAR(model, sgd, loss=0.01)  # refused


def of_group(group: dlcp.DlcpGroup) -> int:
    """What DLCP's groups have beside PyTorch's"""
    group.set_timeout(datetime.timedelta(seconds=5))
    group.set_timeout(5)  # refused
    group.abort(ValueError("why"))  # refused
    group.monitored_barrier(5.0, wait_all_ranks=True)
    return group.stats()["missing"]


try:
    averages: str = bound.resync(sgd)  # refused
except dlcp.DlcpError as error:
    print(error)
