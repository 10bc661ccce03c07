"""The right operand prints, so that one sees how often it ran.

exercises: short circuit; right operand with an effect; not; mixed python and tensor operands
rows: 11
"""

import paddle

ASSERT_STDOUT = True


def asked(x, name):
    print("asked", name)
    return x > 1


def vote(x, y, verbose):
    if asked(x, "x") and asked(y, "y"):
        x = x * 2
    if not (asked(x, "x") or asked(y, "y")) and verbose:
        x = x + 1
    if verbose and asked(y, "last"):
        x = x - y
    return x


def build():
    return vote


def inputs():
    for x, y in ((2.0, 3.0), (2.0, 0.0), (0.0, 2.0), (0.0, 0.0)):
        yield paddle.to_tensor(x), paddle.to_tensor(y), True
    yield paddle.to_tensor(2.0), paddle.to_tensor(2.0), False
