#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The package dlcp: what is wrong with an argument is named, and what to do, which Documentation/messages.md
lists. Without a group, as no argument here needs one; the others are in their tests."""
# pylint: disable=protected-access # what refuses is called by itself

import functools
import sys
import types

import torch
import torch.distributed as dist

from test_group import fails
from test_torch import run_all

import dlcp  # pylint: disable=wrong-import-order # test_torch knows where
from dlcp import group, hook, sparse, tensors  # pylint: disable=wrong-import-order

TWO = types.SimpleNamespace(_size=2)
FLOATS, DOUBLES = torch.zeros(2), torch.zeros(2).double()
WHOLE = torch.nn.Parameter(torch.zeros(2, dtype=torch.int32), requires_grad=False)
Group = group.DlcpGroup
TWO._check_outputs = functools.partial(Group._check_outputs, TWO)
UNEVEN = [FLOATS[:1], torch.zeros(3)]


class Unknown:
    """A reduction that none is equal to"""

    op = "some"

    def __eq__(self, other):
        return False


BOUNDS = (
    (lambda: dlcp.LossBound(2), "a share of 2: shares are 0 to 1"),
    (lambda: dlcp.LossBound(0.1, algo="best"), "'best' is none of auto, ring"),
    (lambda: dlcp.LossBound(0.1, resync=0), "replicas made equal every 0 steps: at least 1"),
    (lambda: dlcp.LossBound(0.1, droppable=0.6, critical=0.6), "are more than all segments: together at most 1"),
    (lambda: dlcp.LossBound(0.1, algo="ring", correct="average"), "contributions arrived: take another algo"),
    (lambda: dlcp.LossBound(0.1).resync(), "resync() of which optimiser? Give it those"),
    (lambda: dlcp.LossBound(0.1, group=TWO).process_group(), 'bounded loss wants the backend "dlcp"'),
    (lambda: list(hook._replicated([torch.optim.SGD([WHOLE], lr=1)])), "has no average: keep it out of"),
)

TENSORS = (
    (lambda: tensors.flattened(torch.empty(1, device="meta")), "carries CPU tensors, not those of meta: call cpu()"),
    (lambda: tensors.flattened(FLOATS.to_sparse()), "DLCP carries dense tensors, and sparse ones in"),
    (lambda: tensors.joined([FLOATS, DOUBLES]), "tensors of several types: convert them to one"),
    (
        lambda: tensors.reduction(types.SimpleNamespace(reduceOp=Unknown())),
        "DLCP has no reduction some: there are",
    ),
    (lambda: tensors.only([FLOATS, FLOATS]), "a list of 2 tensors: a rank has one device"),
    (lambda: sparse._described(torch.zeros([1] * 17)), "of up to 16 dimensions: reshape it first"),
)

CALLS = (
    (lambda: Group._opened(types.SimpleNamespace(_coll=None)), "the process group was destroyed: make another"),
    (lambda: Group._check_root(TWO, types.SimpleNamespace(rootRank=2)), "root 2 of 2 ranks: the first is 0"),
    (lambda: Group._check_outputs(TWO, [FLOATS], FLOATS), "1 outputs for 2 ranks"),
    (lambda: Group.reduce_scatter(TWO, [FLOATS], [UNEVEN]), "each output must be of the input's type and size"),
    (lambda: Group._exchange(TWO, FLOATS, [], DOUBLES, [], [], None), "outputs must be of the inputs' type"),
    (lambda: Group.recv(TWO, [FLOATS], -1), "a receive from rank -1: recv_anysource() takes"),
    (lambda: group._check_tag(-1), "tag -1: tags are 32 bits, and not negative"),
)


def says(refused):
    """A test of some"""

    def test():
        unsaid = [words for call, words in refused if not fails(call, words)]
        if unsaid:
            print("# not said:", *unsaid, sep="\n# ")
        return not unsaid

    return test


def main():
    return run_all(
        [
            ("torch_words_bounds", says(BOUNDS)),
            ("torch_words_tensors", says(TENSORS)),
            ("torch_words_calls", says(CALLS)),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
