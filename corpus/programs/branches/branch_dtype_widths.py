"""One side computes in float64 for accuracy, and the result is used in float32 again.

exercises: float32 against float64 from branches; astype afterwards
rows: 7
"""

import paddle


def careful_sum(x):
    total = x.sum()
    if x.abs().max() > 100:
        total = x.astype("float64").sum()
    return total.astype("float32") / x.shape[0]


def build():
    return careful_sum


def inputs():
    for x in ([1.0, 2.0], [1000.0, 0.5], [-1.0, 3.0]):
        yield (paddle.to_tensor(x),)
