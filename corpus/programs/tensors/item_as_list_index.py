"""The layer that a router picked by .item().

exercises: item() as the index of a list and of a range
rows: 72
"""

import paddle


def route(x, scores):
    experts = [lambda v: v * 2, lambda v: v + 10, lambda v: -v]
    best = scores.argmax().item()
    y = experts[best](x)
    for i in range(best):
        y = y + i
    return y


def build():
    return route


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for best in range(3):
        yield x, paddle.nn.functional.one_hot(paddle.to_tensor(best), 3)
