"""Terms collected in a tensor loop and stacked.

exercises: append in a tensor loop to a list that starts empty; gradient through stack
rows: 74
"""

import paddle


def terms(x, n):
    found = []
    for i in range(n):
        found.append(x * (i + 2))
    return paddle.stack(found)


def build():
    return terms


def inputs():
    for n in (3, 1, 2):
        yield paddle.to_tensor([1.0, 3.0]), paddle.to_tensor(n)
