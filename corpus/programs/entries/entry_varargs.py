"""The converted function takes any number of tensors.

exercises: *args at the entry; loop over args; star-unpacking in a call
rows: 92
"""

import paddle


def largest(*parts):
    if len(parts) == 1:
        return parts[0]
    best = parts[0]
    for part in parts[1:]:
        if part.sum() > best.sum():
            best = part
    return paddle.stack([*parts]).mean() + best


def build():
    return largest


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield x, x * 2, -x
    yield x * 2, x, -x
    yield x, x * 2
