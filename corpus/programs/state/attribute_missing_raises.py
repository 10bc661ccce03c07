"""An attribute that is there on one side only; the other side raises AttributeError.

exercises: attribute newly created on one side, read afterwards
rows: 84
"""

import paddle

RAISES = {1: AttributeError}


class Node:
    pass


def visit(x):
    node = Node()
    if x.sum() > 0:
        node.child = x * 2
    return node.child + 1


def build():
    return visit


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
