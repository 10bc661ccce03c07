"""The scale of attention, from a tensor width.

exercises: math.sqrt of a tensor, used in arithmetic only
rows: 71
"""

import math

import paddle


def scaled(scores, width):
    scale = 1.0 / math.sqrt(width)
    if scores.max() > 3:
        scale = scale / 2
    return scores * scale


def build():
    return scaled


def inputs():
    yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(64.0)
    yield paddle.to_tensor([1.0, 4.0]), paddle.to_tensor(16.0)
