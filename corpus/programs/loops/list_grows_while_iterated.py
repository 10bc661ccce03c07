"""A work list: large blocks are split and their halves come to the end of the list.

exercises: list appended to while it is iterated; Python decides how often, tensors how much
rows: 33
"""

import paddle


def split_all(x, bound):
    work = [x]
    total = paddle.zeros([])
    for block in work:
        if len(work) < 6:
            work.append(block[: block.shape[0] // 2 + 1] * 0.5)
        if block.max() > bound:
            total = total + block.sum()
    return total, len(work)


def build():
    return split_all


def inputs():
    for bound in (0.0, 1.0, 99.0):
        yield paddle.to_tensor([1.0, 2.0, 3.0, 4.0]), paddle.to_tensor(bound)
