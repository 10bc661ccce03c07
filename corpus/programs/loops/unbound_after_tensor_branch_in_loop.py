"""The last positive entry, if there is one.

exercises: name bound in a tensor branch inside a for over a tensor and read after it
rows: 3, 25, 27
"""

import paddle

RAISES = {2: UnboundLocalError}


def last_positive(values):
    for v in values:
        if v > 0:
            found = v * 2
    return found


def build():
    return last_positive


def inputs():
    yield (paddle.to_tensor([1.0, -2.0, 3.0]),)
    yield (paddle.to_tensor([1.0, -2.0, -3.0]),)
    yield (paddle.to_tensor([-1.0, -2.0, -3.0]),)
