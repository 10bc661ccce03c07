"""A work list: an item that is too large puts its half at the end of the list being iterated.

exercises: append to the list that the for loop iterates
rows: 33
"""

import paddle


def halve_down(sizes, x):
    work = list(sizes)
    visited = []
    for size in work:
        visited.append(x * size)
        if size > 1:
            work.append(size // 2)
    return paddle.stack(visited), len(work)


def build():
    return halve_down


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for sizes in ([4, 1], [1], [2, 3]):
        yield sizes, x
