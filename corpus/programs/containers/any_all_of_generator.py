"""Early stopping: all losses are small, or any is not finite.

exercises: any and all of generator expressions over tensor comparisons, with and, or, not
rows: 15, 49
"""

import paddle


def judge(losses, weights):
    total = sum(w * x for w, x in zip(weights, losses))
    if all(x < 1 for x in losses) and not any(w == 0 for w in weights):
        return total, 0
    if any(bool(x > 5) for x in losses):
        return total * 0.5, 1
    return total, 2


def build():
    return judge


def inputs():
    for losses, weights in (
        ([0.5, 0.25], [1.0, 2.0]),
        ([0.5, 9.0], [1.0, 2.0]),
        ([0.5, 2.0], [1.0, 2.0]),
        ([0.5, 0.25], [1.0, 0.0]),
    ):
        yield [paddle.to_tensor(v) for v in losses], [paddle.to_tensor(w) for w in weights]
