"""A softmax three times: by methods, by functions, by operators.

exercises: tensor methods against paddle functions; a bound tensor method in a variable
rows: 54
"""

import paddle


def softmaxes(x):
    shifted = x - x.max(axis=-1, keepdim=True)
    one = shifted.exp() / shifted.exp().sum(axis=-1, keepdim=True)
    two = paddle.divide(paddle.exp(shifted), paddle.sum(paddle.exp(shifted), axis=-1, keepdim=True))
    total = x.sum
    if total() > 3:
        reduce = one.max
    else:
        reduce = one.min
    return one, two, reduce(axis=-1)


def build():
    return softmaxes


def inputs():
    yield (paddle.to_tensor([[1.0, 2.0], [3.0, 1.0]]),)
    yield (paddle.to_tensor([[-1.0, 2.0], [-3.0, 1.0]]),)
