"""Mean pooling over batches of any length, captured once.

exercises: InputSpec with None; shape arithmetic on an unknown dimension; reshape and zeros by
    unknown sizes; range over an unknown length
rows: 89
"""

import paddle

INPUT_SPEC = lambda: [paddle.static.InputSpec([None, 2], "float32", "x", stop_gradient=False)]  # noqa: E731


def pool(x):
    n = x.shape[0]
    total = paddle.zeros([2])
    for i in range(n):
        if x[i].sum() > 0:
            total = total + x[i]
    flat = x.reshape([n * x.shape[1]])
    pad = paddle.zeros([n, 1])
    wide = paddle.concat([x, pad], axis=1)
    if n > 2:
        total = total / n
    return total, flat, wide


def build():
    return pool


def inputs():
    yield (paddle.to_tensor([[1.0, 2.0], [-3.0, 1.0]]),)
    yield (paddle.to_tensor([[1.0, 2.0], [-3.0, 1.0], [2.0, 2.0]]),)
    yield (paddle.to_tensor([[1.0, 2.0]]),)
