"""Python operands decide as in Python, and hand on the tensor untouched.

exercises: value of and, or with a Python left operand; None or tensor; not of a Python value
rows: 12
"""

import paddle


def options(x, bias, names):
    bias = bias or x.mean()
    shown = names and names[0]
    kept = None or x
    nothing = 0 and x
    return kept + bias, shown, nothing, not names


def build():
    return options


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, None, ["a"]
    yield x, 0.5, []
    yield x, paddle.to_tensor(3.0), None
    yield x, paddle.to_tensor(0.0), None
