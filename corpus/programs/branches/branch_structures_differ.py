"""One side gives a pair, the other a single tensor; isinstance sorts it out.

exercises: other structure from branches; isinstance tuple afterwards
rows: 5
"""

import paddle


def encode(x, detailed):
    if detailed > 0:
        code = (x.mean(), x.max())
    else:
        code = x.sum()
    if isinstance(code, tuple):
        return code[0] * code[1]
    return code * 3


def build():
    return encode


def inputs():
    x = paddle.to_tensor([2.0, 1.0])
    for detailed in (1, 0, 2):
        yield x, paddle.to_tensor(detailed)
