"""A loss bound to its margin with functools.partial.

exercises: functools.partial of a function with a tensor if; keyword and positional binding
rows: 55
"""

import functools

import paddle


def hinge(margin, score, weight=1.0):
    if score < margin:
        return (margin - score) * weight
    return score * 0.01


strict = functools.partial(hinge, 1.0, weight=2.0)


def loss(a, b):
    loose = functools.partial(strict, weight=0.5)
    return strict(a) + loose(b)


def build():
    return loss


def inputs():
    for a, b in ((0.5, 2.0), (2.0, 0.5), (2.0, 3.0)):
        yield paddle.to_tensor(a), paddle.to_tensor(b)
