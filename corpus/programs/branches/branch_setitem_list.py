"""An entry of a Python list is replaced in a branch; an alias of the list sees it.

exercises: subscript of a list assigned in a branch; alias of the list
rows: 78
"""

import paddle


def replace_worst(x, limit):
    rows = [x, x * 2, x * 3]
    view = rows
    if x.sum() > limit:
        rows[0] = x * 0
        rows[-1] += 1
    return view[0] + view[2], rows is view


def build():
    return replace_worst


def inputs():
    limit = paddle.to_tensor(1.0)
    for x in ([1.0, 2.0], [-1.0, 0.5], [3.0, 3.0]):
        yield paddle.to_tensor(x), limit
