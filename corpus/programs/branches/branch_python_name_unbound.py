"""An axis bound in one branch is read in the other half of the function.

exercises: int bound in one branch; UnboundLocalError in a call's arguments
rows: 3
"""

import paddle

RAISES = {1: UnboundLocalError}


def reduce_by_setting(x, use):
    if use > 0:
        axis = 0
    y = x * x
    return paddle.sum(y, axis=axis)


def build():
    return reduce_by_setting


def inputs():
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
    yield x, paddle.to_tensor(1)
    yield x, paddle.to_tensor(0)
    yield x + 1, paddle.to_tensor(2)
