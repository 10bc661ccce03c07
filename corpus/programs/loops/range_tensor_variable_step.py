"""Sum every k-th entry, forwards or backwards.

exercises: range with a tensor step of either sign; a step of zero raises
rows: 26
"""

import paddle

RAISES = {4: ValueError}


def stride(x, start, stop, step):
    total = paddle.zeros([])
    for i in range(start, stop, step):
        total = total * 2 + x[i]
    return total


def build():
    return stride


def inputs():
    for start, stop, step in ((0, 4, 1), (0, 4, 3), (3, -1, -2), (3, 0, 1), (0, 4, 0)):
        x = paddle.to_tensor([1.0, 2.0, 3.0, 4.0])
        yield x, paddle.to_tensor(start), paddle.to_tensor(stop), paddle.to_tensor(step)
