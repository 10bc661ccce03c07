"""The greatest common divisor, as the textbook has it, by recursion on tensors.

exercises: recursion whose end a tensor decides
rows: 56
"""

import paddle

# Integers have no gradient.
GRAD = False


def gcd(a, b):
    if b == 0:
        return a
    return gcd(b, a % b)


def build():
    return gcd


def inputs():
    for a, b in ((12, 18), (7, 0), (35, 21)):
        yield paddle.to_tensor(a), paddle.to_tensor(b)
