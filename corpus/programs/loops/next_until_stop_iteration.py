"""Sum the small blocks of a stream whose end is an exception.

exercises: next() in a try in while True, left by except StopIteration; tensor continue
rows: 32, 58
"""

import paddle


def small_sum(blocks, bound):
    stream = iter(blocks)
    total = paddle.zeros([2])
    while True:
        try:
            block = next(stream)
        except StopIteration:
            break
        if block.max() > bound:
            continue
        total = total + block
    return total


def build():
    return small_sum


def inputs():
    for bound in (0.0, 1.5, 9.0):
        yield [paddle.to_tensor([v, 0.5]) for v in (1.0, 2.0, 3.0)], paddle.to_tensor(bound)
