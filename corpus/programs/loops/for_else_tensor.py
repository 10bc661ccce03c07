"""The first row that points away from the query, else the query itself.

exercises: for-else over the rows of a tensor with a tensor break; empty tensor
rows: 36
"""

import paddle


def opposite(rows, query):
    for row in rows:
        if (row * query).sum() < 0:
            answer = row
            break
    else:
        answer = query * 3
    return answer


def build():
    return opposite


def inputs():
    q = [1.0, 0.5]
    yield paddle.to_tensor([[-1.0, 0.0], [1.0, 1.0]]), paddle.to_tensor(q)
    yield paddle.to_tensor([[1.0, 0.0], [0.0, -1.0]]), paddle.to_tensor(q)
    yield paddle.to_tensor([[1.0, 0.0], [2.0, 1.0]]), paddle.to_tensor(q)
    yield paddle.zeros([0, 2]), paddle.to_tensor(q)
