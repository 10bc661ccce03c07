"""A helper appends to a list and fills a dict that it was handed.

exercises: list and dict changed by a helper inside a tensor branch; alias of the list
rows: 78
"""

import paddle


def note(losses, best, loss):
    losses.append(loss * 2)
    if loss < best["loss"]:
        best["loss"] = loss


def run(x, y):
    losses, best = [], {"loss": x.sum()}
    same = losses
    note(losses, best, y.sum())
    note(same, best, (x * y).sum())
    if y.max() > 1:
        best["loss"] = best["loss"] * 0.5
    return paddle.stack(losses), best, len(same)


def build():
    return run


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, x * 0.1
    yield x, x * 2
    yield x, -x
