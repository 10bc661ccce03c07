"""Guarded steps: a Python error is caught and counted in each trip.

exercises: try, except and finally inside a tensor while
rows: 17, 58
"""

import paddle


def steps(x, table, bound):
    i = 0
    while x.sum() > bound:
        try:
            x = x - table["step"]
            x = x - table["missing"]
        except KeyError:
            x = x * 0.5
        finally:
            i = i + 1
    return x, i


def build():
    return steps


def inputs():
    for bound in (99.0, 2.0, 0.1):
        yield paddle.to_tensor([2.0, 2.0]), {"step": 0.25}, paddle.to_tensor(bound)
