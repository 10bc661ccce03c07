"""Square repeatedly; nobody looks at the loop variable.

exercises: for _ in range(t); for _ in a tensor
rows: 26, 27
"""

import paddle


def repeat(x, n, times):
    for _ in range(n):
        x = x * x * 0.5
    for _ in times:
        x = x + 0.25
    return x


def build():
    return repeat


def inputs():
    for n in (0, 1, 3):
        yield paddle.to_tensor([1.5, -1.0]), paddle.to_tensor(n), paddle.to_tensor([0, 0])
