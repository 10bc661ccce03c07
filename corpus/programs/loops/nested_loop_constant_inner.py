"""Each accepted step runs three smoothing passes.

exercises: Python range inside a tensor while inside a Python range; gradients
rows: 17
"""

import paddle


def multigrid(x, bound):
    for level in range(2):
        while x.max() - x.min() > bound * (level + 1):
            for _ in range(2):
                x = (x + x.roll(1)) * 0.5
        x = x * 1.5
    return x


def build():
    return multigrid


def inputs():
    for bound in (99.0, 1.0, 0.4):
        yield paddle.to_tensor([1.0, 5.0, 3.0, -2.0]), paddle.to_tensor(bound)
