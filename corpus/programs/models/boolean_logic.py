"""Pick a value by ternaries over boolean operators and chained comparisons.

exercises: nested ternary; and, or, not; chained comparison with the middle evaluated once
rows: 9, 10, 13
"""

import paddle


def pick(a, b, x):
    y = x + 1.0 if (a > 0 and not b > 1) else x * 2.0
    z = y if 0 < y < 3 else (-y if a < 0 or b < 0 else y * y)
    if not (a > 0 or b > 0):
        z = z - 10.0
    return y, z


def build():
    return pick


def inputs():
    for a, b, x in (
        (1, 0, 1.0),
        (1, 2, 5.0),
        (-1, 0, 4.0),
        (-1, -1, 1.0),
        (1, -1, 7.0),
        (-1, 3, -2.0),
        (1, 1, 0.0),
    ):
        yield paddle.to_tensor(float(a)), paddle.to_tensor(float(b)), paddle.to_tensor(x)
