"""Which of the classes occur among Python labels, as a set comprehension.

exercises: set comprehension over Python values; its size scales a tensor in a branch
rows: 48
"""

import paddle


def balanced(x, labels):
    kinds = {label % 3 for label in labels if label >= 0}
    if x.sum() > 0:
        x = x * len(kinds)
    return x / (1 + max(kinds)), kinds


def build():
    return balanced


def inputs():
    for sign in (1.0, -1.0):
        yield paddle.to_tensor([1.0, 2.0]) * sign, [0, 4, 7, -1]
