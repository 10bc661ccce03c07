"""A bool from a branch is handed to an operator's keyword.

exercises: bool from a branch as keepdim
rows: 69
"""

import paddle


def reduced(x, wide):
    keep = False
    if wide > 0:
        keep = True
    return paddle.sum(x, axis=0, keepdim=keep).sum()


def build():
    return reduced


def inputs():
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    for wide in (1, 0, 2):
        yield x, paddle.to_tensor(wide)
