"""A signal classifier that can leave from the third level of its conditions.

exercises: return three ifs deep; return in the else of an inner if; elif with an inner return
rows: 42
"""

import paddle


def respond(x, y):
    out = x + y
    if x.sum() > 0:
        out = out * 2
        if y.sum() > 0:
            if (x * y).sum() > 10:
                return x * y
            out = out + 1
        else:
            return x - y
    elif y.sum() > 0:
        if y.max() > 3:
            return y
        out = out - 1
    return out


def build():
    return respond


def inputs():
    one = paddle.to_tensor([1.0, 2.0])
    yield one * 3, one * 2
    yield one, one * 0.5
    yield one, -one
    yield -one, one * 2
    yield -one, one * 0.5
    yield -one, -one
