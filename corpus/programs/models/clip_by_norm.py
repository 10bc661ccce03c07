"""Clip a dict of gradients by their global norm, as an optimiser does.

exercises: if without else; dict comprehension in a branch; sum over a generator; dict in and out
rows: 1, 15, 48
"""

import paddle


def clip(gradients, limit=1.0):
    norm = paddle.sqrt(sum((g * g).sum() for g in gradients.values()))
    if norm > limit:
        scale = limit / norm
        gradients = {name: g * scale for name, g in gradients.items()}
    return gradients, norm


def build():
    return clip


def inputs():
    small = {"weight": paddle.full([2, 2], 0.1), "bias": paddle.to_tensor([0.2, 0.3])}
    large = {"weight": paddle.full([2, 2], 3.0), "bias": paddle.to_tensor([4.0, 5.0])}
    yield (small,)
    yield (large,)
    yield large, 100.0
