"""Collect terms in a list while a tensor asks for more, and stop at four.

exercises: while on a tensor and on len of a list that the body appends to
rows: 10, 74, 75
"""

import paddle


def terms(x, bound):
    out = [x]
    while out[-1].abs() > bound and len(out) < 4:
        out.append(out[-1] * 0.5)
    return paddle.stack(out).sum(), len(out)


def build():
    return terms


def inputs():
    for bound in (9.0, 0.6, 0.0):
        yield paddle.to_tensor(2.0), paddle.to_tensor(bound)
