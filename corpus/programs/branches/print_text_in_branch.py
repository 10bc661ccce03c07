"""One of two sentences is printed.

exercises: print of text alone on both sides of a branch
rows: 62
"""

import paddle

ASSERT_STDOUT = True


def told(x):
    if x.sum() > 0:
        print("positive")
        return x * 2
    print("negative")
    return x - 1


def build():
    return told


def inputs():
    yield (paddle.to_tensor([1.0, 3.0]),)
    yield (paddle.to_tensor([-1.0, -3.0]),)
