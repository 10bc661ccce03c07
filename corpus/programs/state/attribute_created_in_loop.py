"""A walker gets its `last` attribute in the loop.

exercises: attribute newly created in a tensor loop and read after it
rows: 84
"""

import paddle

RAISES = {1: AttributeError}


class Walker:
    pass


def walk(x, steps):
    walker = Walker()
    walker.place = x
    for _ in range(steps):
        walker.last = walker.place
        walker.place = walker.place * 0.5 + 1
    return walker.place - walker.last


def build():
    return walk


def inputs():
    for steps in (3, 0, 1):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(steps)
