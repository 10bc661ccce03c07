"""Terms of a regulariser are yielded under conditions and summed.

exercises: generator consumed by sum and max; yield in each branch of a Python if
rows: 57
"""

import paddle


def terms(parts, squared):
    for part in parts:
        if squared:
            yield (part * part).sum()
        else:
            yield part.sum() if part.sum() > 0 else -part.sum()


def regulariser(parts, squared):
    return sum(terms(parts, squared)) + max(terms(parts, squared))


def build():
    return regulariser


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield [x, -x * 2], True
    yield [x, -x * 2], False
    yield [-x, x * 2], False
