# SPDX-License-Identifier: GPL-2.0
"""The text every Debian has (the licences of base-files), and a small character-level GPT"""

from pathlib import Path

import numpy
import torch
from torch import nn

FOLDER = Path("/usr/share/common-licenses")
CONTEXT = 64  # characters
BLOCK = 1000  # every tenth block of so many is for testing
SYMBOLS = 128  # ASCII; the few others become one


def load(kind, folder=FOLDER, limit=None):
    """Contexts of "train" or "t10k", so many from everywhere, and the characters that follow each of theirs"""
    files = sorted(path for path in Path(folder).iterdir() if not path.is_symlink())
    text = numpy.frombuffer(b"".join(path.read_bytes() for path in files), numpy.uint8)
    tested = numpy.arange(len(text)) // BLOCK % 10 == 9
    text = torch.from_numpy(numpy.minimum(text[tested if kind == "t10k" else ~tested], SYMBOLS - 1).astype(numpy.int64))
    windows = text.unfold(0, CONTEXT + 1, CONTEXT if kind == "t10k" else 1)
    windows = windows[:: max(1, len(windows) // (limit or len(windows)))][:limit]
    return windows[:, :-1], windows[:, 1:]


class Gpt(nn.Module):
    """Layers of 12 * width**2 parameters, and some 330 * width"""

    def __init__(self, width, layers):
        super().__init__()
        self.symbols = nn.Embedding(SYMBOLS, width)
        self.places = nn.Parameter(0.02 * torch.randn(CONTEXT, width))
        layer = {"nhead": 4, "dim_feedforward": 4 * width, "dropout": 0.0, "batch_first": True, "norm_first": True}
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(width, **layer) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, SYMBOLS)
        # not a buffer: DistributedDataParallel sends these round in each step
        self.later = torch.full((CONTEXT, CONTEXT), float("-inf")).triu(1)

    def forward(self, x):
        """(batch, symbol, place)"""
        y = self.symbols(x) + self.places
        for layer in self.layers:
            y = layer(y, self.later)
        return self.head(self.norm(y)).transpose(1, 2)


def new_model(width, more=0):
    """Two layers, and `more`"""
    return Gpt(width, 2 + more)


def new_optimizer(params, rate):
    return torch.optim.Adam(params, lr=rate)
