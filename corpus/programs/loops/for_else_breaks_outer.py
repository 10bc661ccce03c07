"""Find a pair of a row and a scale by the for-else-continue-break idiom.

exercises: for-else with continue in the else and break after it, to leave two loops at once
rows: 36, 38
"""

import paddle


def pair(rows, scales, bound):
    total = paddle.zeros([])
    for row in rows:
        for scale in scales:
            value = (row * scale).sum()
            total = total + value
            if value > bound:
                break
        else:
            continue
        break
    return total, value


def build():
    return pair


def inputs():
    for bound in (0.5, 1.9, 3.5, 7.0, 99.0):
        rows = paddle.to_tensor([[0.5, 0.5], [1.0, 1.0], [2.0, 2.0]])
        yield rows, paddle.to_tensor([1.0, 1.5]), paddle.to_tensor(bound)
