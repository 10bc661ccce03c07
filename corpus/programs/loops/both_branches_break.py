"""Look at one candidate only, and add or subtract it.

exercises: if and else that both break, in a for over a list of tensors
rows: 37, 39
"""

import paddle


def decide(x, candidates):
    for c in candidates:
        if c.sum() > 0:
            x = x + c
            break
        else:
            x = x - c * 2
            break
    return x


def build():
    return decide


def inputs():
    for v in (1.0, -9.0):
        yield paddle.to_tensor([1.0, 2.0]), [paddle.to_tensor([v, 2.0]), paddle.to_tensor([5.0, v])]
