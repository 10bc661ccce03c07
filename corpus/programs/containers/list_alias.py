"""A history that is known under two names.

exercises: alias of a list that grows in a tensor loop; identity kept
rows: 78
"""

import paddle


def history(x, steps):
    record = []
    view = record
    for _ in range(steps):
        record.append(x)
        x = x + 1
    view.append(x * 10)
    return len(record), record[-1], view[0], view is record


def build():
    return history


def inputs():
    for steps in (3, 0, 1):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(steps)
