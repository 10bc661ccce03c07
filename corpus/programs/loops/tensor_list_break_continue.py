"""Merge a list of gradients: leave out the huge ones, stop at a zero.

exercises: break and continue in a list of tensors decided by tensors
rows: 39
"""

import paddle


def merge(gradients, bound):
    total = paddle.zeros([2])
    for g in gradients:
        size = g.abs().max()
        if size > bound:
            continue
        if size == 0:
            break
        total = total + g
    return total


def build():
    return merge


def inputs():
    for first, second in ((1.0, 2.0), (50.0, 2.0), (1.0, 0.0), (50.0, 50.0)):
        parts = [paddle.to_tensor([v, v / 2]) for v in (first, second, 3.0)]
        yield parts, paddle.to_tensor(10.0)
