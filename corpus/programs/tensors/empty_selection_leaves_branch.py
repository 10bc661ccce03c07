"""Boxes that pass a threshold, moved when a flag says so; there may be none.

exercises: a tensor without elements that leaves a branch, nonzero, masked_select
rows: 90
"""

import paddle


def keep(scores, boxes, limit, shift):
    chosen = paddle.nonzero(scores > limit).flatten()
    picked = paddle.masked_select(boxes, scores > limit)
    if shift > 0:
        picked = picked + shift
    else:
        chosen = chosen[:0]
    return picked, chosen, picked.sum()


def build():
    return keep


def inputs():
    scores = paddle.to_tensor([0.2, 0.9, 0.6])
    boxes = paddle.to_tensor([1.0, 2.0, 4.0])
    for limit in (0.5, 0.95, 0.1, 2.0):
        for shift in (1.0, -1.0):
            yield scores, boxes, paddle.to_tensor(limit), paddle.to_tensor(shift)
