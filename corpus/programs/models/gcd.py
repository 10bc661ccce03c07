"""Greatest common divisor by Euclid, and the least common multiple from it.

exercises: while on truthiness of a tensor; tuple swap; helper function with a loop; early
    return before a loop
rows: 16, 17, 54, 82
"""

import paddle

GRAD = False  # integers


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def lcm(a, b):
    if a == 0 or b == 0:
        return paddle.zeros_like(a)
    return a // gcd(a, b) * b


def build():
    return lcm


def inputs():
    for a, b in ((12, 18), (7, 3), (5, 5), (0, 4), (4, 0)):
        yield paddle.to_tensor(a), paddle.to_tensor(b)
