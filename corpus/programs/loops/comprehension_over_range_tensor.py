"""The first n multiples of a vector.

exercises: list comprehension over range(t), stacked
rows: 26, 49
"""

import paddle


def multiples(x, n):
    return paddle.stack([x * i for i in range(n)]).sum(0)


def build():
    return multiples


def inputs():
    for n in (1, 2, 4):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(n)
