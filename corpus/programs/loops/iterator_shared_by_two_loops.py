"""A header loop reads until the marker; the body loop goes on from there.

exercises: one Python iterator consumed by two loops, the first of which a tensor breaks
rows: 32, 39
"""

import paddle


def parse(parts):
    stream = iter(parts)
    header = paddle.zeros([])
    for p in stream:
        if p < 0:
            break
        header = header + p
    body = paddle.zeros([])
    for p in stream:
        body = body + p * p
    return header, body


def build():
    return parse


def inputs():
    for values in ((1.0, -1.0, 3.0, 4.0), (-1.0, 2.0, 3.0, 4.0), (1.0, 2.0, 3.0, 4.0)):
        yield ([paddle.to_tensor(v) for v in values],)
