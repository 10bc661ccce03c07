"""Every tensor of a list goes through a function with a condition, and pairs through another.

exercises: map with a function that has a tensor if; map over two lists with a lambda
rows: 55
"""

import paddle


def squash(x):
    if x.abs().max() > 1:
        return x / x.abs().max()
    return x


def total(parts, weights):
    squashed = list(map(squash, parts))
    weighted = map(lambda p, w: p * w if p.sum() > 0 else p, squashed, weights)
    return sum(weighted)


def build():
    return total


def inputs():
    x, w = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([0.5, 0.25])
    yield [x, x * 0.1], [w, w]
    yield [-x, x], [w, w * 2]
