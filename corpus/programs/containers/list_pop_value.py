"""Reverse a chain of partial sums by popping from the end.

exercises: value of pop() in a tensor loop; while over the length of the list
rows: 76
"""

import paddle


def unwind(x, depth):
    stack = []
    for _ in range(depth):
        x = x * 2
        stack.append(x)
    result = paddle.zeros_like(x)
    while stack:
        result = result * 0.1 + stack.pop()
    return result, len(stack)


def build():
    return unwind


def inputs():
    for depth in (3, 1, 0, 4):
        yield paddle.to_tensor([1.0, -1.0]), paddle.to_tensor(depth)
