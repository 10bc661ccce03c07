"""Add up the residuals that matter.

exercises: walrus in an if inside a loop over a tensor; the name read in the branch
rows: 21
"""

import paddle


def residual(values, center):
    total = paddle.zeros([])
    for v in values:
        if (gap := v - center) > 0:
            total = total + gap * gap
    return total, gap


def build():
    return residual


def inputs():
    for center in (0.0, 2.0, 9.0):
        yield paddle.to_tensor([1.0, 3.0, 2.5]), paddle.to_tensor(center)
