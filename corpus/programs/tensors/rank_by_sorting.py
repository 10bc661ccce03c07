"""The k best scores and their labels.

exercises: topk, argsort, sort, max with an axis, unbind, chunk, split in a branch
rows: 1
"""

import paddle


def best(scores, labels, k):
    values, places = paddle.topk(scores, k)
    if values[0] > 2 * values[1]:
        a, b = paddle.split(scores, 2)
    else:
        b, a = scores.chunk(2)
    order = scores.argsort(descending=True)
    return values, labels[places], a - b, paddle.gather(labels, order)


def build():
    return best


def inputs():
    labels = paddle.to_tensor([10, 20, 30, 40])
    yield paddle.to_tensor([1.0, 9.0, 3.0, 4.0]), labels, 2
    yield paddle.to_tensor([1.0, 5.0, 3.0, 4.0]), labels, 2
