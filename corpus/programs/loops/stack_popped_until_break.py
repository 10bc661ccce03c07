"""Take plates off a stack until one is broken.

exercises: while over a Python list of equal tensors with pop() and a tensor break; len of the rest
rows: 31, 39
"""

import paddle


def take(parts):
    stack = list(parts)
    total = paddle.zeros([])
    while stack:
        p = stack.pop()
        if p < 0:
            break
        total = total + p
    return total, len(stack)


def build():
    return take


def inputs():
    for a, b in ((1.0, 2.0), (-1.0, 2.0), (1.0, -2.0)):
        yield ([paddle.to_tensor(v) for v in (a, b, 3.0)],)
