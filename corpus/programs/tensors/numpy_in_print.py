"""A weight printed as an array and not used otherwise.

exercises: numpy() in print only, in a branch too
rows: 72
"""

import paddle

ASSERT_STDOUT = True


def shown(x):
    y = x * 2
    print("y", y.numpy())
    if y.sum() > 1:
        print(y.detach().numpy().shape)
    return y


def build():
    return shown


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([0.25, 0.125]),)
