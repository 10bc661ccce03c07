"""A number looked up in a tensor.

exercises: python number in a tensor; tensor in a tensor; not in
rows: 14
"""

import paddle


def contains(ids, x, wanted):
    if 3 in ids:
        x = x * 2
    if wanted not in ids:
        x = x - 1
    return x


def build():
    return contains


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for ids, wanted in (([1, 3], 1), ([1, 2], 5), ([3, 3], 4)):
        yield paddle.to_tensor(ids), x, paddle.to_tensor(wanted)
