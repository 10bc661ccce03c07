"""The number of rows, returned and used as an int under a dynamic spec.

exercises: InputSpec with None; x.shape[0] and len(x) returned; x.shape returned; size, numel
rows: 66, 89
"""

import paddle

INPUT_SPEC = lambda: [paddle.static.InputSpec([None, 2], "float32", "x", stop_gradient=False)]  # noqa: E731


def sizes(x):
    rows, columns = x.shape
    half = rows // 2
    return x[:half].sum(), x[half:].mean(), rows, columns, len(x), half


def build():
    return sizes


def inputs():
    yield (paddle.arange(8, dtype="float32").reshape([4, 2]),)
    yield (paddle.arange(10, dtype="float32").reshape([5, 2]),)
    yield (paddle.arange(4, dtype="float32").reshape([2, 2]),)
