"""A stride chosen by a tensor is still a Python int to isinstance.

exercises: isinstance of merged numbers against int, float, str and paddle.Tensor
rows: 68
"""

import paddle


def describe(x):
    if x.sum() > 0:
        k = 2
        factor = 1.5
    else:
        k = 3
        factor = 0.5
    kind = "number" if isinstance(k, int) else "tensor"
    if isinstance(factor, float):
        x = x * factor
    if not isinstance(k, paddle.Tensor):
        x = x + k
    return x, kind, isinstance(k, (str, float)), isinstance(factor, int)


def build():
    return describe


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
