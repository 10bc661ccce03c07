"""Draw until a value is accepted; the value and the count go out.

exercises: return of a tuple out of while True, the only way out of the function
rows: 19, 43
"""

import paddle


def accept(x, rate, bound):
    n = paddle.zeros([], "int64")
    while True:
        x = x * rate
        n = n + 1
        if x.sum() < bound:
            return x * 2, n


def build():
    return accept


def inputs():
    for bound in (99.0, 1.0, 0.1):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(0.6), paddle.to_tensor(bound)
