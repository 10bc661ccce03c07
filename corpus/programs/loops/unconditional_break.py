"""The first row only, by a loop that never comes to a second trip.

exercises: break without a condition at the end of a for over a tensor; the variable read after it
rows: 37, 40
"""

import paddle


def first(rows):
    for row in rows:
        if row.sum() > 0:
            row = row * 2
        break
    return row


def build():
    return first


def inputs():
    for v in (1.0, -9.0):
        yield (paddle.to_tensor([[v, 1.0], [3.0, 4.0]]),)
