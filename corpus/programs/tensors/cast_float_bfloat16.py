"""The scale of a half-precision weight, taken out as a Python float.

exercises: float() of a bfloat16 and of a float32 tensor; arithmetic on the float
rows: 65
"""

import paddle


def scale_by_first(weight, limit):
    scale = float(weight[0].astype("bfloat16"))
    if scale > float(limit):
        scale = float(limit)
    return scale, scale * 0.5 + 1, weight / scale


def build():
    return scale_by_first


def inputs():
    limit = paddle.to_tensor(2.7)
    yield paddle.to_tensor([0.1, -0.3, 0.2]), limit
    yield paddle.to_tensor([5.3, -5.3, 0.2]), limit
    yield paddle.to_tensor([2.51, 2.5, 0.2]), limit
