"""A residual that is computed in the condition that tests it.

exercises: walrus in if, elif, ternary, call and comprehension, on tensors
rows: 21
"""

import paddle


def refine(x, weights):
    if (norm := x.norm()) > 3:
        y = x / norm
    elif (low := x.min()) < 0:
        y = x - low
    else:
        y = x
    total = paddle.exp(shifted := y - y.max()).sum()
    z = half if (half := total / 2) > 1 else total
    scaled = [last := w * y for w in weights]
    return shifted, z, norm, scaled[0] + last


def build():
    return refine


def inputs():
    yield paddle.to_tensor([3.0, 4.0]), [1.0, 2.0]
    yield paddle.to_tensor([-1.0, 0.5]), [1.0, 2.0]
    yield paddle.to_tensor([1.0, 0.5]), [1.0, 2.0]
