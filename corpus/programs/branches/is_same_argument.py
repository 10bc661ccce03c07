"""The same tensor passed twice, as a query that is its own key.

exercises: is between two arguments that are one tensor
rows: 4
"""

import paddle


def scores(query, key):
    product = query * key
    if query is key:
        product = product / 2
    if product.sum() > 4:
        product = product - 1
    return product


def build():
    return scores


def inputs():
    x, y = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([3.0, 4.0])
    yield x, y
    yield x, x
    yield y, y
