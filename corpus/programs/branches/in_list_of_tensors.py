"""A score looked up in a list of tensors.

exercises: tensor in list of tensors; python number in list of tensors
rows: 14
"""

import paddle


def bonus(x, marks):
    known = [marks[0], marks[1] * 2]
    if x in known:
        x = x * 10
    if 3.0 in known:
        x = x + 1
    return x


def build():
    return bonus


def inputs():
    marks = paddle.to_tensor([1.0, 2.0])
    for x in (1.0, 4.0, 5.0):
        yield paddle.to_tensor(x), marks * 1
    yield paddle.to_tensor(3.0), paddle.to_tensor([3.0, 5.0])
