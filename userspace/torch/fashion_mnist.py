# SPDX-License-Identifier: GPL-2.0
"""Fashion-MNIST as Debian ships it (dataset-fashion-mnist), and a CNN that learns it"""

import gzip
import os

import numpy
import torch
from torch import nn

FOLDER = "/usr/share/datasets/fashion-mnist"


def load(kind, folder=FOLDER, limit=None):
    """Images and labels of "train" or "t10k"; the files may be unpacked"""

    def read(name, skip):
        path = os.path.join(folder, name)
        opened = open(path, "rb") if os.path.exists(path) else gzip.open(path + ".gz")
        with opened as file:
            return numpy.frombuffer(file.read(), numpy.uint8, offset=skip)

    images = read(f"{kind}-images-idx3-ubyte", 16).reshape(-1, 1, 28, 28)[:limit]
    labels = read(f"{kind}-labels-idx1-ubyte", 8)[:limit]
    return torch.from_numpy(images.astype(numpy.float32) / 255 - 0.29), torch.from_numpy(labels.astype(numpy.int64))


class Residual(nn.Module):
    """A layer that learns what is to be added, little at first, so that many of them learn, too"""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return x + 0.1 * torch.relu(self.linear(x))


def new_model(hidden, more=0):
    """1,579 parameters for each of the hidden neurons, and 4,810; `more` layers between them"""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 49, hidden), nn.ReLU(), *(Residual(hidden) for _ in range(more)), nn.Linear(hidden, 10),
    )  # fmt: skip


def new_optimizer(params, rate):
    return torch.optim.SGD(params, lr=rate, momentum=0.9)


def accuracy(model, images, labels):
    """Share of the labels that the model finds: one of an image, or one of each of its places"""
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in zip(images.split(500), labels.split(500)))
    return right / labels.numel()
