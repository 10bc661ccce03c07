"""Heat a body and say in words how it is.

exercises: a str bound before a range with a tensor bound and rebound in a tensor branch, returned
rows: 5, 26
"""

import paddle


def heat(x, n):
    state = "cold"
    for _ in range(n):
        x = x * 2
        if x.max() > 3:
            state = "hot"
    return x, state


def build():
    return heat


def inputs():
    for n in (0, 1, 3):
        yield paddle.to_tensor([0.5, 1.0]), paddle.to_tensor(n)
