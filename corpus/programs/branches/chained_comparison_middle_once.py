"""The middle of a chain reports and counts; it is evaluated once, the end only if it must.

exercises: chained comparison; middle evaluated once; last operand evaluated lazily
rows: 13
"""

import paddle

ASSERT_STDOUT = True


def shown(x, name):
    print(name, "is asked")
    return x * 1


def within(x, low, high):
    if shown(low, "low") < shown(x, "x") < shown(high, "high"):
        x = x * 2
    return x


def build():
    return within


def inputs():
    low, high = paddle.to_tensor(2.0), paddle.to_tensor(4.0)
    for x in (1.0, 3.0, 5.0):
        yield paddle.to_tensor(x), low, high
