"""Three kinds of bad input, three exceptions.

exercises: raise in if, elif and else; class without arguments; custom class with arguments
rows: 59
"""

import paddle

RAISES = {1: OverflowError, 2: ArithmeticError, 3: LookupError}


def checked(x, where):
    if x > 100:
        raise OverflowError
    elif x < 0:
        raise ArithmeticError("negative", 7)
    elif where > 2:
        raise LookupError()
    else:
        y = x * 2
    return y + 1


def build():
    return checked


def inputs():
    one, three = paddle.to_tensor(1), paddle.to_tensor(3)
    yield paddle.to_tensor(5.0), one
    yield paddle.to_tensor(500.0), one
    yield paddle.to_tensor(-5.0), one
    yield paddle.to_tensor(5.0), three
