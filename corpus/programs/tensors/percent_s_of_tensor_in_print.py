"""A line in the old style that shows a whole tensor.

exercises: percent s formatting of a tensor in print
rows: 62, 71
"""

import paddle

ASSERT_STDOUT = True


def told(x):
    y = x * 2
    print("y is %s" % y)  # noqa: UP031
    if y.sum() > 1:
        print("%s of %s" % ("large", y.sum()))  # noqa: UP031
    return y


def build():
    return told


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([0.25, 0.125]),)
