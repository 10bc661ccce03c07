"""A trace of a descent.

exercises: print of text and of tensors in a tensor while loop and in for over a tensor
rows: 62
"""

import paddle

ASSERT_STDOUT = True


def descent(x, values):
    steps = 0
    while x > 1:
        x = x / 2
        steps += 1
        print("step", steps, x)
    for v in values:
        if v > 0:
            print("add", v)
            x = x + v
    print("done")
    return x


def build():
    return descent


def inputs():
    values = paddle.to_tensor([1.0, -1.0])
    yield paddle.to_tensor(0.5), values
    yield paddle.to_tensor(1.5), values
    yield paddle.to_tensor(7.0), -values
