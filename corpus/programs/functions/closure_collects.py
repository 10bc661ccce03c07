"""A nested function appends to a list of the function around, in several branches.

exercises: list of the enclosing function changed by a nested function in tensor branches
rows: 78
"""

import paddle


def collected(x):
    found = []

    def note(value):
        found.append(value)

    if x[0] > 0:
        note(x * 2)
    if x[1] > 0:
        note(x * 3)
    if x.sum() > 0:
        note(x)
    result = x * 0
    for item in found:
        result = result + item
    return result


def build():
    return collected


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([1.0, -2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
