"""The value of `t and v`: the left operand if it is false, else the right one.

exercises: value of and; tensor left operand; three operands
rows: 12
"""

import paddle


def gated(gate, x):
    first = gate and x
    chain = gate and x and x * 2
    return first, chain


def build():
    return gated


def inputs():
    for gate, x in ((2.0, 3.0), (0.0, 3.0), (1.0, 0.0)):
        yield paddle.to_tensor(gate), paddle.to_tensor(x)
