"""The entries in front of the first negative one, as a list.

exercises: append in a Python loop behind a tensor break; the list returned
rows: 39, 75
"""

import paddle


def leading(parts):
    kept = []
    for p in parts:
        if p < 0:
            break
        kept.append(p * 2)
    return kept


def build():
    return leading


def inputs():
    for a, b in ((1.0, 2.0), (-1.0, 2.0), (1.0, -2.0)):
        yield ([paddle.to_tensor(v) for v in (a, b, 3.0)],)
