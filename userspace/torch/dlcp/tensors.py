# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tensors as libdlcp sees them: contiguous memory, a type, and what is to become of it."""

from __future__ import annotations

from typing import Any, Sequence, TypeVar, Union

import torch
import torch.distributed as dist

from . import _lib
from ._lib import Args, DlcpError

TYPES = {
    torch.float32: _lib.F32,
    torch.float16: _lib.F16,
    torch.bfloat16: _lib.BF16,
    torch.int8: _lib.I8,
    torch.int32: _lib.I32,
    torch.float64: _lib.F64,
    torch.int64: _lib.I64,
    torch.uint8: _lib.U8,
}
# These go as bytes. All ranks must mean the same: where nothing is reduced, libdlcp compares these
# arguments, and gives them no meaning.
_AS_BYTES = {
    dtype: Args(reduce=number)
    for number, dtype in enumerate((torch.bool, torch.int16, torch.complex64, torch.complex128), 1)
}
_REDUCTIONS = {
    "SUM": _lib.SUM,
    "AVG": _lib.AVG,
    "MAX": _lib.MAX,
    "MIN": _lib.MIN,
    "PRODUCT": _lib.PRODUCT,
    "BAND": _lib.AND,
    "BOR": _lib.OR,
    "BXOR": _lib.XOR,
}
# What a reduction of truth values is for the bytes that hold them, 0 and 1
_OF_BOOLS = {
    _lib.SUM: _lib.OR,
    _lib.MAX: _lib.OR,
    _lib.OR: _lib.OR,
    _lib.MIN: _lib.AND,
    _lib.PRODUCT: _lib.AND,
    _lib.AND: _lib.AND,
    _lib.XOR: _lib.XOR,
}


# Tensors, and lists of them, that an operation has
Result = Union[torch.Tensor, Sequence["Result"]]
_One = TypeVar("_One")


def flattened(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor's own memory if possible, else a copy"""
    if tensor.device.type != "cpu":
        raise DlcpError(f"DLCP carries CPU tensors, not those of {tensor.device}: call cpu() first")
    if tensor.layout != torch.strided:
        raise DlcpError("DLCP carries dense tensors, and sparse ones in all_reduce() alone: call to_dense() first")
    return tensor.detach().resolve_conj().resolve_neg().contiguous().view(-1)


def fill(tensor: torch.Tensor, flat: torch.Tensor) -> None:
    """Bring a result to where it belongs, if it is not there already"""
    if flat.data_ptr() != tensor.data_ptr():
        tensor.detach().copy_(flat.view_as(tensor))


def fill_all(tensors: Sequence[torch.Tensor], whole: torch.Tensor) -> None:
    """The same for several, whose results follow each other"""
    for tensor, flat in zip(tensors, whole.split([t.numel() for t in tensors])):
        fill(tensor, flat)


def joined(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """One after the other, of one type"""
    if any(tensor.dtype != tensors[0].dtype for tensor in tensors):
        raise DlcpError("tensors of several types: convert them to one")
    return torch.cat([flattened(tensor) for tensor in tensors])


def bytes_of(result: Result) -> int:
    """Of a tensor, or of a list of them"""
    if isinstance(result, torch.Tensor):
        return result.numel() * result.element_size()
    return sum(bytes_of(one) for one in result)


def joined_bytes(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """The bytes of tensors of whatever types"""
    return torch.cat([flattened(tensor).view(torch.uint8) for tensor in tensors])


def fill_from_bytes(tensors: Sequence[torch.Tensor], whole: torch.Tensor) -> None:
    """Undoes joined_bytes()"""
    for tensor, part in zip(tensors, whole.split([bytes_of(t) for t in tensors])):
        fill(tensor, part.clone().view(tensor.dtype))


def as_is(flat: torch.Tensor) -> tuple[int, int, Args | None]:
    """What libdlcp is to carry unchanged: of each element how many units, their type, and arguments"""
    if flat.dtype in TYPES:
        return 1, TYPES[flat.dtype], None
    return flat.element_size(), _lib.I8, _AS_BYTES.get(flat.dtype, Args())


def reduction(opts: Any) -> int:
    """What torch asks for, in libdlcp's numbers"""
    op = getattr(opts, "reduceOp", dist.ReduceOp.SUM)
    # In 1.13 a RedOpType, in 2.x a ReduceOp around one
    for name, number in _REDUCTIONS.items():
        if op == getattr(dist.ReduceOp, name):
            return number
    raise DlcpError(f"DLCP has no reduction {getattr(op, 'op', op)}: there are {', '.join(_REDUCTIONS)}")


def reducible(flat: torch.Tensor, number: int) -> tuple[torch.Tensor, int]:
    """The tensor and the reduction that libdlcp takes in place of these. The tensor is the same memory,
    or a copy, which becomes @flat by its copy_()."""
    name = next(name for name, one in _REDUCTIONS.items() if one == number)
    bitwise = number in (_lib.AND, _lib.OR, _lib.XOR)
    if flat.dtype == torch.bool and number in _OF_BOOLS:
        return flat.view(torch.uint8), _OF_BOOLS[number]
    if flat.dtype == torch.int16:
        return flat.int(), number
    if flat.is_complex() and number in (_lib.SUM, _lib.AVG):
        return torch.view_as_real(flat).view(-1), number
    if flat.dtype not in TYPES or bitwise and flat.is_floating_point():
        raise DlcpError(f"Cannot use ReduceOp.{name} with {flat.dtype} over DLCP: convert the tensor first")
    return flat, number


def only(tensors: Sequence[_One]) -> _One:
    """Of a list of one for each device"""
    if len(tensors) != 1:
        raise DlcpError(f"a list of {len(tensors)} tensors: a rank has one device, and gives one")
    return tensors[0]
