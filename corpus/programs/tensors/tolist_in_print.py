"""Predictions shown as a list and not used otherwise.

exercises: tolist() in print only, in a branch too
rows: 71
"""

import paddle

ASSERT_STDOUT = True


def shown(x):
    y = x * 2
    print("y", y.tolist())
    if y.sum() > 1:
        print(f"best {y.argmax().tolist()} of {y.tolist()}")
    return y


def build():
    return shown


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([0.25, 0.125]),)
