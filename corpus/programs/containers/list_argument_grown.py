"""The caller's list is filled by a tensor loop.

exercises: list argument appended to in a tensor loop; the caller sees it
rows: 75, 78
"""

import paddle


def fill(into, x, steps):
    for _ in range(steps):
        into.append(x)
        x = x * 2
    return x


def build():
    return fill


def inputs():
    for steps in (2, 0, 1):
        yield [], paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(steps)
