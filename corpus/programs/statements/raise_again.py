"""A handler that notes the failure and passes it on.

exercises: bare raise in a handler of an exception that a tensor decided; finally runs
rows: 60
"""

import paddle

RAISES = {1: ValueError}


def noted(x, notes):
    try:
        if x.min() < 0:
            raise ValueError("negative")
        y = x * 2
    except ValueError:
        notes.append("failed")
        raise
    finally:
        notes.append("finished")
    return y


def build():
    return noted


def inputs():
    yield paddle.to_tensor([1.0, 2.0]), []
    yield paddle.to_tensor([-1.0, 2.0]), []
