"""Keep the first and the last entries of a tensor; how many, a branch decided.

exercises: python int from a branch as bound of slices of a tensor; as its index
rows: 69
"""

import paddle


def keep_ends(x, strict):
    count = 3
    if strict > 0:
        count = 2
    return x[:count] * 2, x[-count:], x[count]


def build():
    return keep_ends


def inputs():
    x = paddle.to_tensor([1.0, 2.0, 3.0, 4.0])
    for strict in (1, 0, 2):
        yield x, paddle.to_tensor(strict)
