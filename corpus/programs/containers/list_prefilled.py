"""Fibonacci of tensors, from the two last items of a list.

exercises: list with items before the tensor loop; two negative indices
rows: 74
"""

import paddle


def fibonacci(a, b, count):
    numbers = [a, b]
    for _ in range(count):
        numbers.append(numbers[-1] + numbers[-2])
    return paddle.stack(numbers)


def build():
    return fibonacci


def inputs():
    for count in (4, 0, 1):
        yield paddle.to_tensor(1.0), paddle.to_tensor(2.0), paddle.to_tensor(count)
