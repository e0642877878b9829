# SPDX-License-Identifier: GPL-2.0
"""Models too large to train here: their tensors, and published times of computing.

Times are of one GPU, milliseconds of a forward and a backward pass:

ResNet-50, VGG-16  16 images of 224 x 224, GTX 1080, cuDNN 5: github.com/jcjohnson/cnn-benchmarks
                   (forward and total are given; backward is the difference)
BERT-base          8 sequences of 512 tokens, TITAN RTX, PyTorch 1.4: forward from the benchmarks page
                   of Hugging Face's transformers 2.11; backward is taken as twice that
GPT-2 (124 M)      an iteration of github.com/karpathy/nanoGPT's bench.py, compiled; one third
                   of it is taken as forward

A pass's time is divided among the tensors in proportion to their multiplications.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    tensors: tuple              # (parameters, multiplications) in forward order
    forward_ms: float
    backward_ms: float
    scale: int                  # sizes and times are divided by it, alike

    @property
    def bytes(self):
        return 4 * sum(count for count, _ in self.tensors)


def conv(inputs, outputs, kernel, side):
    """Without bias, with a batch normalisation behind it."""
    weights = inputs * outputs * kernel * kernel
    return (weights + 2 * outputs, weights * side * side)


def resnet50():
    yield conv(3, 64, 7, 112)
    inputs = 64
    for width, blocks, side in ((64, 3, 56), (128, 4, 28), (256, 6, 14), (512, 3, 7)):
        for block in range(blocks):
            yield conv(inputs, width, 1, side)
            yield conv(width, width, 3, side)
            yield conv(width, 4 * width, 1, side)
            if not block:
                yield conv(inputs, 4 * width, 1, side)
            inputs = 4 * width
    yield (2048 * 1000 + 1000, 2048 * 1000)


def vgg16():
    inputs = 3
    for width, layers, side in ((64, 2, 224), (128, 2, 112), (256, 3, 56), (512, 3, 28),
                                (512, 3, 14)):
        for _ in range(layers):
            weights = inputs * width * 9
            yield (weights + width, weights * side * side)
            inputs = width
    for inputs, outputs in ((25088, 4096), (4096, 4096), (4096, 1000)):
        yield (inputs * outputs + outputs, inputs * outputs)


def transformer(vocabulary, positions, tokens, head):
    """12 layers of 768; head: parameters behind them."""
    width = 768
    yield (vocabulary * width + positions * width, 0)
    for _ in range(12):
        for weights in (3 * width * width, width * width, 4 * width * width,
                        4 * width * width):
            yield (weights + 2 * width, weights * tokens)
    if head:
        yield (head, head * tokens)


MODELS = {
    "ResNet-50": Model(tuple(resnet50()), 50.67, 153.90 - 50.67, 8),
    "VGG-16": Model(tuple(vgg16()), 66.56, 232.55 - 66.56, 32),
    "BERT-base": Model(tuple(transformer(30522 + 2, 512, 512, 768 * 769)), 88, 176, 32),
    "GPT-2": Model(tuple(transformer(50257, 1024, 1024, 0)), 45, 90, 32),
}


def buckets(model, limit, piece):
    """Tensors are fused in forward order until they have `limit` bytes, as PyTorch does
    from the other end, and cut into pieces of at most `piece` bytes after scaling, so that
    they can be on several links at once. Return, scaled: (bytes, forward us, backward us) of
    each; the last piece of a bucket has all its time."""
    work = sum(cost for _, cost in model.tensors)
    found, size, cost = [], 0, 0
    for i, (count, multiplications) in enumerate(model.tensors):
        size, cost = size + 4 * count, cost + multiplications
        if size >= limit or i == len(model.tensors) - 1:
            pieces = -(-size // (model.scale * piece))
            each = int(size / model.scale / pieces) // 4 * 4
            share = cost / work / model.scale * 1e3
            found += [(each, 0, 0)] * (pieces - 1)
            found.append((each, model.forward_ms * share, model.backward_ms * share))
            size, cost = 0, 0
    return found
