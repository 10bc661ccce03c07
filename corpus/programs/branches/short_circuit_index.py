"""Look at an element only if the index is inside.

exercises: short circuit; right operand that would index out of range
rows: 11
"""

import paddle


def step_right(x, index):
    if index + 1 < x.shape[0] and x[index + 1] > x[index]:
        index = index + 1
    if index >= x.shape[0] or x[index] < 0:
        return index, x.sum() * 0
    return index, x[index]


def build():
    return step_right


def inputs():
    x = paddle.to_tensor([1.0, 3.0, -2.0])
    for index in (0, 1, 2, 3):
        yield x, paddle.to_tensor(index)
