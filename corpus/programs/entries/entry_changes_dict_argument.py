"""Gradients in a dict are clipped in place by the entry.

exercises: items of a dict argument assigned, in a tensor branch and outside; a new key
rows: 79
"""

import paddle


def clip_gradients(grads, bound):
    norm = paddle.sqrt(sum((g * g).sum() for g in grads.values()))
    if norm > bound:
        for name in list(grads):
            grads[name] = grads[name] * bound / norm
    grads["norm"] = norm
    return norm * 2


def build():
    return clip_gradients


def inputs():
    for scale in (1.0, 0.01):
        grads = {"w": paddle.to_tensor([3.0, 4.0]) * scale, "b": paddle.to_tensor([1.0]) * scale}
        yield grads, paddle.to_tensor(1.0)
