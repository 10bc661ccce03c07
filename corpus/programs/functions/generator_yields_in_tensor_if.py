"""Only the peaks are yielded: the condition around the yield is a tensor.

exercises: yield inside a tensor if
rows: 57
"""

import paddle


def peaks(parts, bound):
    for part in parts:
        if part.max() > bound:
            yield part


def strongest(parts, bound):
    out = paddle.zeros_like(parts[0])
    for part in peaks(parts, bound):
        out = out + part
    return out


def build():
    return strongest


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for bound in (1.0, 3.0, 9.0):
        yield [x, x * 2, x * 0.2], paddle.to_tensor(bound)
