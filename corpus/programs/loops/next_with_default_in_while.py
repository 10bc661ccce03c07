"""Read the blocks of a signal from an iterator until it is empty.

exercises: while over next(iterator, None); the end decided by Python, the body by tensors
rows: 31, 32
"""

import paddle

GRAD = False  # what is read out of an iterator has no gradient to compare


def loudest(blocks):
    stream = iter(blocks)
    best = paddle.zeros([2])
    while (block := next(stream, None)) is not None:
        if block.sum() > best.sum():
            best = block
    return best


def build():
    return loudest


def inputs():
    for a, b in ((1.0, 2.0), (2.0, 1.0), (-1.0, -2.0)):
        yield ([paddle.to_tensor([a, 0.5]), paddle.to_tensor([b, 0.25])],)
