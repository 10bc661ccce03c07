"""A recurrence written into a buffer of fixed size.

exercises: item assignment at a tensor index in a tensor loop; values that need gradients
rows: 87
"""

import paddle


def recurrence(x, n):
    states = paddle.zeros([5])
    h = x
    i = paddle.zeros([], dtype="int64")
    while i < n:
        h = paddle.tanh(h + 0.5)
        states[i] = h
        i += 1
    return states, h


def build():
    return recurrence


def inputs():
    for n in (0, 1, 5, 3):
        yield paddle.to_tensor(0.3), paddle.to_tensor(n)
