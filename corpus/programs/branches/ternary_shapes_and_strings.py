"""Ternaries whose sides differ in shape, in text, and in a whole tuple.

exercises: ternary of strings; ternary of tensors of other length; ternary of tuples
rows: 9
"""

import paddle


def describe(x, flag):
    name = "long" if flag > 0 else "short"
    part = x if flag > 0 else x[:1]
    low, high = (x.min(), x.max()) if flag > 0 else (x[0], x[-1])
    return name, part * 2, high - low


def build():
    return describe


def inputs():
    x = paddle.to_tensor([2.0, 1.0, 5.0])
    for flag in (1, 0, 2):
        yield x, paddle.to_tensor(flag)
