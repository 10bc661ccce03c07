"""Whether a branch has replaced the tensor is asked with `is`.

exercises: is and is not between names that a branch may have rebound
rows: 4
"""

import paddle


def refined(x, limit):
    best = x
    if x.sum() > limit:
        best = x * 0.5
    if best is x:
        best = best + 1
    return best, best is not x


def build():
    return refined


def inputs():
    limit = paddle.to_tensor(2.0)
    for x in ([1.0, 2.0], [0.5, 0.5], [4.0, 4.0]):
        yield paddle.to_tensor(x), limit
