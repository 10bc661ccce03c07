"""Losses are ordered by a Python key, with a tensor condition afterwards.

exercises: sorted with a key function on Python values; reverse
rows: 55
"""

import paddle


def weighted(entries):
    order = sorted(entries, key=lambda entry: entry[0], reverse=True)
    out = order[0][1]
    for place, (_, tensor) in enumerate(order[1:], 2):
        if tensor.sum() > 0:
            out = out + tensor / place
    return out


def build():
    return weighted


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield ([(1, x), (3, x * 2), (2, x * 4)],)
    yield ([(3, x), (1, -x * 2), (2, x * 4)],)
