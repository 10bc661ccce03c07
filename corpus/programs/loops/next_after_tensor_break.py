"""The entry that follows the marker.

exercises: next() of an iterator after a tensor break left the loop over it
rows: 32, 39
"""

import paddle


def after_marker(parts):
    stream = iter(parts)
    for p in stream:
        if p < 0:
            break
    return next(stream, p) * 2


def build():
    return after_marker


def inputs():
    for values in ((-1.0, 2.0, 3.0), (1.0, -2.0, 3.0), (1.0, 2.0, -3.0), (1.0, 2.0, 3.0)):
        yield ([paddle.to_tensor(v) for v in values],)
