"""Targets from a generator are paired with predictions.

exercises: generator consumed by zip and enumerate; the shorter one ends the loop
rows: 57
"""

import paddle


def targets(x):
    for scale in (1.0, 0.5, 0.25):
        yield x * scale if x.sum() > 0 else x - scale


def loss(predictions, x):
    out = paddle.zeros([])
    for i, (prediction, target) in enumerate(zip(predictions, targets(x))):  # noqa: B905
        error = (prediction - target).abs().sum()
        if error > 1:
            out = out + error * (i + 1)
    return out


def build():
    return loss


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield [x, x * 3], x
    yield [x, x, x, x], -x
    yield [], x
