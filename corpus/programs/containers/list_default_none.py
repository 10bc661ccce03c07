"""A memory that is made when the caller has none.

exercises: parameter with default None replaced by a list, grown in a tensor loop
rows: 74, 75
"""

import paddle


def remember(x, steps, memory=None):
    if memory is None:
        memory = []
    for _ in range(steps):
        memory.append(x)
        x = x * 0.5
    memory.append(x)
    return paddle.stack(memory)


def build():
    return remember


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for steps in (2, 0):
        yield x, paddle.to_tensor(steps)
    yield x, paddle.to_tensor(1), [x * 3]
