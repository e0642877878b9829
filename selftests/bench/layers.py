# SPDX-License-Identifier: GPL-2.0
"""Layers of real models: how many parameters each layer has, in the order of the forward pass. The
small tensors of a normalisation belong to the layer they follow, as in a bucket."""


def resnet50():
    """He et al., Deep Residual Learning for Image Recognition (CVPR 2016), table 1."""
    layers = [7 * 7 * 3 * 64 + 2 * 64]
    width = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        inner = 64 << stage
        outer = 4 * inner
        for block in range(blocks):
            layers += [width * inner + 2 * inner, 9 * inner * inner + 2 * inner,
                       inner * outer + 2 * outer]
            if block == 0:
                layers.append(width * outer + 2 * outer)
            width = outer
    return layers + [width * 1000 + 1000]


def vgg16():
    """Simonyan and Zisserman, Very Deep Convolutional Networks (ICLR 2015), column D."""
    layers, width = [], 3
    for out in (64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512):
        layers.append(9 * width * out + out)
        width = out
    return layers + [a * b + b for a, b in ((25088, 4096), (4096, 4096), (4096, 1000))]


def gpt(blocks=6, width=384, context=256, vocabulary=65):
    """Radford et al., GPT-2 (2019), as small as a model of single characters may be."""
    layers = [vocabulary * width + context * width]
    for _ in range(blocks):
        layers += [3 * width * width + 3 * width + 2 * width, width * width + width,
                   4 * width * width + 4 * width + 2 * width, 4 * width * width + width]
    return layers + [2 * width]


def backward(layers, size=2):
    """Bytes of each layer's gradient, of @size bytes a parameter (half precision), in the
    order of the backward pass."""
    return tuple(size * n for n in reversed(layers))
