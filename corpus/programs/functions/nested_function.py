"""A clipping step whose inner functions branch on tensors and call each other.

exercises: nested functions with tensor ifs; one inner function calls the other
rows: 52
"""

import paddle


def clip_all(x, y, bound):
    def norm(t):
        return paddle.sqrt((t * t).sum())

    def clip(t, limit=2.0):
        if norm(t) > limit * bound:
            return t * bound / norm(t)
        return t

    return clip(x), clip(y, limit=1.0)


def build():
    return clip_all


def inputs():
    x, y = paddle.to_tensor([3.0, 4.0]), paddle.to_tensor([0.3, 0.4])
    for bound in (1.0, 0.1, 10.0):
        yield x, y, paddle.to_tensor(bound)
