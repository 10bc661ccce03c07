"""Python's sum, list and len of a range with a tensor bound.

exercises: sum(range(t)), list(range(t)) and len(range(t))
rows: 26
"""

import paddle


def counts(x, n):
    return x * sum(range(n)), list(range(n)), len(range(1, n))


def build():
    return counts


def inputs():
    for n in (0, 1, 4):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(n)
