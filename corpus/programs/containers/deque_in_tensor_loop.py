"""A work queue in a deque: breadth first until nothing is left.

exercises: popleft and append of a deque in a tensor loop
rows: 74, 76
"""

from collections import deque

import paddle


def spread(heat, floor):
    queue = deque([heat])
    total = paddle.zeros([])
    while queue:
        h = queue.popleft()
        total = total + h * h
        if h > floor:
            queue.append(h * 0.5)
            queue.append(h * 0.25)
    return total


def build():
    return spread


def inputs():
    for floor in (1.0, 9.0, 2.0):
        yield paddle.to_tensor(4.0), paddle.to_tensor(floor)
