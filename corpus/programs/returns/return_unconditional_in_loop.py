"""The first entry of a list of candidates decides alone.

exercises: unconditional return at the end of a loop's body; return in a tensor if before it
rows: 44
"""

import paddle


def first(candidates, x):
    for candidate in candidates:
        if (candidate * x).sum() < 0:
            return x - candidate
        x = x + candidate
        return x * 2
    return x


def build():
    return first


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield [x, -x], x
    yield [-x, x], x
    yield [], x
