"""The highest score, or a default when there is none.

exercises: max and min with default over an empty and a filled list
rows: 15
"""

import paddle


def highest(scores, fallback):
    top = max(scores, default=fallback)
    low = min([s * 2 for s in scores], default=None)
    if low is None:
        return top * 3
    return top - low


def build():
    return highest


def inputs():
    fallback = paddle.to_tensor(2.0)
    yield [], fallback
    for row in ((1.0, 5.0), (9.0, 2.5)):
        yield [paddle.to_tensor(v) for v in row], fallback
