"""An exception whose class takes other arguments than it stores.

exercises: raise of a custom class with keyword arguments and attributes, caught outside by type
rows: 59
"""

import paddle


class ShapeError(ValueError):
    def __init__(self, *, expected, found):
        super().__init__(f"expected {expected}, found {found}")
        self.expected = expected


RAISES = {1: ShapeError}


def checked(x, limit):
    if x.sum() > limit:
        raise ShapeError(expected=3, found=4)
    return x * 2


def build():
    return checked


def inputs():
    limit = paddle.to_tensor(5.0)
    yield paddle.to_tensor([1.0, 2.0]), limit
    yield paddle.to_tensor([10.0, 2.0]), limit
