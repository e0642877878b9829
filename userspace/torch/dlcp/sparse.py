# SPDX-License-Identifier: LGPL-2.1-or-later
"""All-reduce of sparse tensors: of as many elements as each rank has.

All ranks first tell how many that is. What follows is padded to the most that one has, and comes
from all to all: where several ranks have the same index, each adds for itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

import torch

from . import _lib
from ._lib import DlcpError
from .work import Stepped

if TYPE_CHECKING:
    from .group import DlcpGroup
    from .work import Work

_DIMS = 16


def _described(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dim() > _DIMS:
        raise DlcpError(f"DLCP carries sparse tensors of up to {_DIMS} dimensions: reshape it first")
    shape = list(tensor.shape) + [-1] * (_DIMS - tensor.dim())
    return torch.tensor([tensor.sparse_dim(), *shape, tensor._nnz()])


def _padded(part: torch.Tensor, dim: int, length: int) -> torch.Tensor:
    """Longer along @dim: what is added means nothing"""
    shape = list(part.shape)
    shape[dim] = length
    whole = torch.zeros(shape, dtype=part.dtype)
    whole.narrow(dim, 0, part.shape[dim]).copy_(part)
    return whole


def _gather(group: DlcpGroup, part: torch.Tensor) -> torch.Tensor:
    whole = torch.empty((group.size(), *part.shape), dtype=part.dtype)
    group.gather_flat(part.contiguous().view(-1), whole.view(-1)).wait()
    return whole


def _sum(group: DlcpGroup, tensor: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
    """With more operations, which all ranks begin here"""
    most = max(lengths)
    indices = _gather(group, _padded(tensor.indices(), 1, most))
    values = _gather(group, _padded(tensor.values(), 0, most))
    return torch.sparse_coo_tensor(
        torch.cat([one[:, :n] for one, n in zip(indices, lengths)], 1),
        torch.cat([one[:n] for one, n in zip(values, lengths)]),
        tensor.shape,
    ).coalesce()


def all_reduce(group: DlcpGroup, tensor: torch.Tensor, number: int) -> Work:
    """@number: the reduction. Return: a Work"""
    if number not in (_lib.SUM, _lib.AVG):
        raise DlcpError("unsupported reduction: DLCP adds and averages sparse tensors")
    if tensor.device.type != "cpu":
        raise DlcpError(f"DLCP carries CPU tensors, not those of {tensor.device}: call cpu() first")
    if group.in_callback():
        return all_reduce(group.for_callbacks(), tensor, number)
    mine = tensor.detach().coalesce()
    about = _described(mine)
    told = torch.empty((group.size(), about.numel()), dtype=about.dtype)

    def rest(_: object) -> None:
        if any(not torch.equal(other[:-1], about[:-1]) for other in told):
            raise DlcpError("sparse tensors differ between ranks: give all one shape, with as many sparse dimensions")
        total = _sum(group, mine, told[:, -1].tolist())
        if number == _lib.AVG:
            total = total / group.size()
        with torch.no_grad():
            tensor.copy_(total)

    return group.retain(Stepped(group, group.gather_flat(about, told.view(-1)), rest, [tensor]), [])
