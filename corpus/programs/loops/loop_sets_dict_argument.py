"""Clip the gradients of a dict in place.

exercises: items of a dict argument assigned while its keys are iterated, in a tensor branch
rows: 31, 79
"""

import paddle


def clip(grads, bound):
    for name in grads:
        if grads[name].abs().max() > bound:
            grads[name] = grads[name] * 0.1
    return grads["w"].sum() + grads["b"]


def build():
    return clip


def inputs():
    for a, b in ((1.0, 2.0), (50.0, 2.0), (50.0, -90.0)):
        yield {"w": paddle.to_tensor([a, 1.0]), "b": paddle.to_tensor(b)}, paddle.to_tensor(10.0)
