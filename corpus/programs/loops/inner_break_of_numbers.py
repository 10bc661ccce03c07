"""How many numbers of a row come before the first one that is too large, over all bounds.

exercises: break of an inner tensor loop that is entered again
rows: 38
"""

import paddle

GRAD = False  # whole numbers


def before(bounds, row):
    found = paddle.zeros([], "int64")
    i = paddle.zeros([], "int64")
    while i < 3:
        j = paddle.zeros([], "int64")
        while j < 4:
            if row[j] > bounds[i]:
                break
            found = found + 1
            j = j + 1
        i = i + 1
    return found


def build():
    return before


def inputs():
    row = paddle.to_tensor([1, 4, 2, 9])
    for bounds in ([0, 5, 10], [10, 10, 10], [0, 0, 0]):
        yield paddle.to_tensor(bounds), row
