"""A loss with an auxiliary loss in the second place, or None there.

exercises: a tuple whose second place is None on one path
rows: 45
"""

import paddle


def losses(logits, gate):
    main = (logits * logits).mean()
    if gate.max() > 0.5:
        return main, (gate * gate).sum()
    return main, None


def build():
    return losses


def inputs():
    logits = paddle.to_tensor([1.0, -2.0])
    yield logits, paddle.to_tensor([0.9, 0.1])
    yield logits, paddle.to_tensor([0.4, 0.1])
