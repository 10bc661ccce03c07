"""A gradient is clipped on its way back by a hook.

exercises: Tensor.register_hook on an intermediate tensor
rows: 101
"""

import paddle


def forward(x):
    y = x * x
    y.register_hook(lambda grad: grad.clip(-1.0, 1.0) * 0.5)
    return y * 4 + x


def build():
    return forward


def inputs():
    yield (paddle.to_tensor([0.5, -1.0]),)
    yield (paddle.to_tensor([1.5, 2.0]),)
