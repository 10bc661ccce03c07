"""A helper clips the entries of the list that it is given.

exercises: list mutated by a helper that is called in a tensor branch
rows: 78
"""

import paddle


def clip_all(gradients, bound):
    for i, g in enumerate(gradients):
        gradients[i] = g.clip(-bound, bound)


def clipped(a, b, bound):
    gradients = [a, b]
    norm = sum((g * g).sum() for g in gradients)
    if norm > bound:
        clip_all(gradients, 0.5)
    return gradients


def build():
    return clipped


def inputs():
    a = paddle.to_tensor([1.0, -2.0])
    for bound in (1.0, 100.0):
        yield a, a * 0.5, paddle.to_tensor(bound)
