"""Count how far each start can jump, leaving out the starts of an even number.

exercises: range with a tensor bound inside another; break in the inner, continue in the outer
rows: 26, 37, 38
"""

import paddle


def jumps(x, n, bound):
    total = paddle.zeros([])
    count = 0
    for i in range(n):
        if i % 2 == 0:
            continue
        for j in range(i, n):
            x = x * 1.1
            if x + j > bound:
                break
            total = total + x
            count += 1
        total = total + i
    return x, total, count


def build():
    return jumps


def inputs():
    for n, bound in ((5, 5.0), (5, 3.2), (0, 5.0), (4, 99.0)):
        yield paddle.to_tensor(1.0), paddle.to_tensor(n), paddle.to_tensor(bound)
