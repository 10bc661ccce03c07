"""A queue that is taken from until nothing is left.

exercises: a while over the length of a tensor that shrinks to nothing
rows: 22, 90
"""

import paddle


def drain(queue, budget):
    spent = paddle.zeros([])
    while queue.shape[0] > 0:
        spent = spent + queue[0] * queue[0]
        queue = queue[1:]
        if spent > budget:
            break
    return spent, queue


def build():
    return drain


def inputs():
    queue = paddle.to_tensor([1.0, 2.0, 3.0])
    for budget in (100.0, 2.0, 14.0, 0.5):
        yield queue, paddle.to_tensor(budget)
