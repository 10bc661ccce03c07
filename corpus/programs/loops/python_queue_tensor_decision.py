"""Merge a queue of blocks in pairs; a tensor decides how two are merged.

exercises: while over a Python list used as a queue, with pop(0) and append; tensor branches
rows: 1, 31
"""

import paddle


def merge(blocks, bound):
    queue = list(blocks)
    merges = 0
    while len(queue) > 1:
        a, b = queue.pop(0), queue.pop(0)
        if (a - b).abs().max() > bound:
            queue.append(a + b)
        else:
            queue.append((a + b) / 2)
        merges += 1
    return queue[0], merges


def build():
    return merge


def inputs():
    for bound in (0.0, 2.0, 99.0):
        yield [paddle.to_tensor([v, 1.0]) for v in (1.0, 2.0, 8.0, 4.0)], paddle.to_tensor(bound)
