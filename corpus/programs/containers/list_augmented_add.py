"""Collect the two halves of a wave in every period.

exercises: += of a list in a tensor loop; + of lists in a tensor loop
rows: 76
"""

import paddle


def periods(x, count):
    up = []
    down = []
    for _ in range(count):
        up += [x, x * 2]
        down = down + [-x]
        x = x + 1
    return paddle.stack([x] + up + down)


def build():
    return periods


def inputs():
    for count in (2, 0, 1):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(count)
