"""A bias that is a number for all or one per column; later code broadcasts it.

exercises: tensors of other rank from branches, used in arithmetic afterwards
rows: 8
"""

import paddle


def add_bias(x, shared):
    if shared > 0:
        bias = x.mean()
    else:
        bias = x.mean(axis=0)
    y = x + bias
    return y, len(bias.shape)


def build():
    return add_bias


def inputs():
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 6.0]])
    for shared in (1, 0, 2):
        yield x, paddle.to_tensor(shared)
