"""Losses of a step: a penalty is added only when the weights are large.

exercises: append on one side of a tensor branch; sum and len of the list
rows: 76
"""

import paddle


def loss(weight, error):
    terms = [(error * error).mean()]
    norm = (weight * weight).sum()
    if norm > 1:
        terms.append(0.1 * norm)
    return sum(terms), len(terms)


def build():
    return loss


def inputs():
    error = paddle.to_tensor([1.0, -2.0])
    for w in (0.1, 2.0):
        yield paddle.to_tensor([w, w]), error
