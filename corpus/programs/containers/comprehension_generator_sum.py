"""Sum of clipped losses by a generator expression.

exercises: generator expression with a tensor ternary in sum(), max() and tuple()
rows: 49
"""

import paddle


def clipped_sum(losses, bound):
    total = sum(loss if loss < bound else bound * 1.0 for loss in losses)
    largest = max(abs(loss) for loss in losses)
    parts = tuple(loss * 2 if loss > 0 else loss for loss in losses)
    return total, largest, parts


def build():
    return clipped_sum


def inputs():
    bound = paddle.to_tensor(1.0)
    for values in ([0.5, 2.0, -3.0], [2.0, 3.0, 4.0]):
        yield [paddle.to_tensor(v) for v in values], bound
