"""Serve a queue until someone cannot wait.

exercises: while over a Python list with pop(0) and a tensor break; len of the rest
rows: 31, 39
"""

import paddle


def serve(parts):
    queue = list(parts)
    total = paddle.zeros([])
    while queue:
        p = queue.pop(0)
        if p < 0:
            break
        total = total + p
    return total, len(queue)


def build():
    return serve


def inputs():
    for a, b in ((1.0, 2.0), (-1.0, 2.0), (1.0, -2.0)):
        yield ([paddle.to_tensor(v) for v in (a, b, 3.0)],)
