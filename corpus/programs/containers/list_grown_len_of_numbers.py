"""The number of steps, by the length of the record that was kept of them.

exercises: len of a list that a tensor loop has grown
rows: 75
"""

import paddle

GRAD = False  # whole numbers


def steps(n):
    seen = []
    for i in range(n):
        seen.append(i * i)
    return len(seen)


def build():
    return steps


def inputs():
    for n in (3, 0, 1):
        yield (paddle.to_tensor(n),)
