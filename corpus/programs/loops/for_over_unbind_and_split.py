"""Attend over the time steps that unbind and the heads that split hand out.

exercises: for over x.unbind(), paddle.split and chunk, with a tensor break
rows: 31, 39
"""

import paddle


def attend(x, bound):
    total = paddle.zeros([2])
    for step in x.unbind(axis=1):
        total = total + step
        if total.sum() > bound:
            break
    for k, head in enumerate(paddle.split(x, 3, axis=1)):
        if head.mean() < 1:
            continue
        total = total * (k + 1)
    return total


def build():
    return attend


def inputs():
    for bound in (1.0, 6.0, 99.0):
        yield paddle.to_tensor([[1.0, 2.0, 0.5], [0.5, 3.0, 1.0]]), paddle.to_tensor(bound)
