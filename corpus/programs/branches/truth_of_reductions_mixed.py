"""`if (a > 0).all() and not b`: a mask and a flag that is a tensor.

exercises: and, or, not over reductions and flag tensors; de Morgan; parentheses
rows: 10
"""

import paddle


def admit(a, b):
    if (a > 0).all() and not b:
        y = a * 2
    elif not ((a > 0).any() or b):
        y = a - 1
    elif b or not (a == 0).any():
        y = a + 10
    else:
        y = a * a
    return y


def build():
    return admit


def inputs():
    for a, b in (
        ([1.0, 2.0], False),
        ([-1.0, -2.0], False),
        ([1.0, 2.0], True),
        ([1.0, 0.0], False),
    ):
        yield paddle.to_tensor(a), paddle.to_tensor(b)
