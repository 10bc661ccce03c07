"""A search that counts its probes even when it leaves early.

exercises: try/finally with break, continue and return under tensor conditions in a loop
rows: 46, 58
"""

import paddle


def search(x, limit):
    probes = 0
    for i in range(4):
        try:
            if x[i] > limit:
                break
            if x[i] < 0:
                continue
            x = x * 2
        finally:
            probes += 1
    return x, probes


def build():
    return search


def inputs():
    limit = paddle.to_tensor(5.0)
    yield paddle.to_tensor([1.0, 2.0, 0.1, 0.2]), limit
    yield paddle.to_tensor([0.1, 0.1, 0.1, 0.1]), limit
    yield paddle.to_tensor([9.0, 2.0, 0.1, 0.2]), limit
    yield paddle.to_tensor([-1.0, -2.0, -1.0, -2.0]), limit
