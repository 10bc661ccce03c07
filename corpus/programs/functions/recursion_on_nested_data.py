"""The norm of all tensors in nested lists and dicts.

exercises: recursion over a container; isinstance decides; generator expression inside
rows: 56
"""

import paddle


def total(tree):
    if isinstance(tree, dict):
        return sum(total(part) for part in tree.values())
    if isinstance(tree, (list, tuple)):
        return sum(total(part) for part in tree)
    if tree.min() < 0:
        return (tree * tree).sum()
    return tree.sum()


def build():
    return total


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield ({"a": [x, -x], "b": x},)
    yield ({"a": [-x, x], "b": -x},)
    yield ([x, (x, [x * 2])],)
