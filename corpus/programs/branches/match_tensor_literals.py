"""An opcode held by a tensor picks the operation.

exercises: match with a tensor subject; literal patterns; or-pattern; wildcard
rows: 47
"""

import paddle


def execute(x, opcode):
    match opcode:
        case 0:
            y = x + 1
        case 1 | 2:
            y = x * 2
        case -1:
            y = -x
        case _:
            y = x * 0 + 9
    return y


def build():
    return execute


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for opcode in (0, 1, 2, -1, 7):
        yield x, paddle.to_tensor(opcode)
