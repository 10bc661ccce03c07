"""Layers that are frozen are given by a set of Python ints.

exercises: set of ints: membership, add, union and iteration beside tensor branches
rows: 31
"""

import paddle


def apply_layers(x, frozen):
    touched = set()
    for layer in range(4):
        if layer in frozen:
            continue
        if x.sum() > 0:
            x = x * (layer + 1)
        else:
            x = x - layer
        touched.add(layer)
    return x, sorted(touched | frozen), len(touched)


def build():
    return apply_layers


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for sign in (1.0, -1.0):
        yield x * sign, {1, 3}
    yield x, set()
