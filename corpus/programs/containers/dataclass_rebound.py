"""One of two dataclasses, chosen by a tensor, and moved in a loop.

exercises: dataclass built on each side of a branch and rebound in a tensor loop
rows: 83
"""

from dataclasses import dataclass

import paddle


@dataclass
class Box:
    low: paddle.Tensor
    high: paddle.Tensor


def enclose(x, steps):
    if x.sum() > 0:
        box = Box(x - 1, x + 1)
    else:
        box = Box(x * 2, x * 0.5)
    for _ in range(steps):
        box = Box(box.low - 0.5, high=box.high * 1.5)
    return box, box.high - box.low


def build():
    return enclose


def inputs():
    for sign, steps in ((1.0, 2), (-1.0, 2), (1.0, 0), (-1.0, 1)):
        yield paddle.to_tensor([1.0, 2.0]) * sign, paddle.to_tensor(steps)
