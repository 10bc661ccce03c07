"""A candidate that is not good enough is improved and queued once more.

exercises: while over an index into a Python list that a tensor branch appends to
rows: 31, 33, 76
"""

import paddle


def improve(parts, bound):
    queue = list(parts)
    i = 0
    total = paddle.zeros([])
    while i < len(queue) and i < 5:
        if queue[i] < bound:
            queue.append(queue[i] + 1)
        else:
            total = total + queue[i]
        i += 1
    return total, len(queue)


def build():
    return improve


def inputs():
    for bound in (0.0, 1.5, 9.0):
        yield [paddle.to_tensor(v) for v in (1.0, 2.0)], paddle.to_tensor(bound)
