"""A statistic that may fail on strange inputs, so it is wrapped.

exercises: except Exception around .numpy(), which dygraph has no problem with
rows: 58, 72
"""

import paddle


def centred(x):
    try:
        middle = float(x.numpy().mean())
    except Exception:
        middle = 0.0
    return x - middle


def build():
    return centred


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, 2.0]),)
