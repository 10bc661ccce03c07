"""Keep the first weights of a Python list; how many, a branch decided.

exercises: python int from a branch as bound of a slice of a list
rows: 69
"""

import paddle


def weighted(x, strict):
    count = 3
    if strict > 0:
        count = 2
    weights = [0.5, 0.25, 0.125]
    return x * sum(weights[:count])


def build():
    return weighted


def inputs():
    x = paddle.to_tensor([1.0, 2.0, 3.0, 4.0])
    for strict in (1, 0, 2):
        yield x, paddle.to_tensor(strict)
