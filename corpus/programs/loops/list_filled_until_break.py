"""Keep the entries in front of the first negative one.

exercises: append in a Python loop in front of a tensor break; len of the list after the loop
rows: 39, 75
"""

import paddle


def leading(parts):
    kept = []
    total = paddle.zeros([])
    for p in parts:
        kept.append(p)
        if p < 0:
            break
        total = total + p
    return total, len(kept)


def build():
    return leading


def inputs():
    for a, b in ((1.0, 2.0), (-1.0, 2.0), (1.0, -2.0)):
        yield ([paddle.to_tensor(v) for v in (a, b, 3.0)],)
