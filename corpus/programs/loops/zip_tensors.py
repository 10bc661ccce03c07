"""A hinge loss over pairs of a score and a label.

exercises: zip of two tensors of known length; of three tensors
rows: 29
"""

import paddle


def hinge(scores, labels, weights):
    loss = paddle.zeros([])
    for s, y in zip(scores, labels):
        margin = 1 - s * y
        if margin > 0:
            loss = loss + margin
    for s, y, w in zip(scores, labels, weights):
        loss = loss + w * s * y
    return loss


def build():
    return hinge


def inputs():
    y, w = [1.0, -1.0, 1.0], [0.5, 1.0, 0.25]
    yield paddle.to_tensor([2.0, 0.5, 0.5]), paddle.to_tensor(y), paddle.to_tensor(w)
    yield paddle.to_tensor([2.0, -5.0, 3.0]), paddle.to_tensor(y), paddle.to_tensor(w)
