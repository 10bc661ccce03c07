"""Huber losses of a batch by comprehensions, with a ternary for each element.

exercises: list comprehension with a tensor ternary; any and all over tensors; max over a list
rows: 15, 48, 49
"""

import paddle


def huber(errors, delta):
    losses = [0.5 * e * e if e.abs() < delta else delta * (e.abs() - 0.5 * delta) for e in errors]
    largest = max(losses)
    if any(e > 2 for e in errors):
        largest = largest * 2
    if all(e > 0 for e in errors):
        largest = largest + 100
    return sum(losses) / len(losses), largest


def build():
    return huber


def inputs():
    delta = paddle.to_tensor(1.0)
    for values in ([0.5, -2.0, 1.5], [0.5, 3.0, 0.1], [-0.5, -0.1, -3.0]):
        yield [paddle.to_tensor(v) for v in values], delta
